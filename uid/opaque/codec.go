package opaque

import (
	"crypto/aes"
	"errors"
	"fmt"
	"io"

	"github.com/uidring/uidring/internal/ff1"
	"github.com/uidring/uidring/uid"
)

// ErrVersion means that a code names a version for which the Codec has no key. It lasts for this
// Codec: only one with that key reveals the code. No Codec has a key for the zero ID.
var ErrVersion = errors.New("opaque: no key of this version")

// Key hides ids. Formatting one, in a log as well, does not show the secret. Package fmt calls no
// method of a value in an unexported field: formatting a struct that has a Key there shows it.
type Key struct {
	Version int    // 1..3; part of every code
	Secret  []byte `json:"-"` // 16, 24 or 32 random bytes: AES-128, AES-192 or AES-256
}

// Format writes the version.
func (k Key) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, fmt.Sprintf("key of version %d", k.Version))
}

// Codec hides the ids of one kind and reveals them. It is immutable and safe for concurrent use.
type Codec struct {
	keys    [maxVersion + 1]*ff1.Permutation // nil: there is no key, as at 0
	current uint8
}

// New returns the Codec of a kind. The kind is FF1's tweak: the same id has another code in each,
// so that an order's code does not reveal the user of that id. It is no secret, and changing it
// changes all codes.
//
// Hide uses the current key, Reveal all. To rotate keys, first give the new key as an old one to
// every process, then make it the current one everywhere, and drop the old one when its codes are
// out of use. There are three versions, so a fourth key reuses one: first drop the key that
// had it. What is left of its codes then reveals wrong ids, without an error.
//
// Version 0 is refused, so that the zero ID, a field that JSON lacks for one, reveals nothing. The
// error names the field and the bound: a Version outside 1..3 or given twice, or a Secret
// of another length. It shows no secret. New keeps no reference to the secrets.
func New(kind string, current Key, old ...Key) (*Codec, error) {
	c := &Codec{current: uint8(current.Version)}
	for _, k := range append([]Key{current}, old...) {
		if k.Version < 1 || k.Version > maxVersion {
			return nil, fmt.Errorf("opaque: Version is %d, want 1..%d", k.Version, maxVersion)
		}
		if c.keys[k.Version] != nil {
			return nil, fmt.Errorf("opaque: Version %d is given twice", k.Version)
		}
		block, err := aes.NewCipher(k.Secret)
		if err != nil {
			return nil, fmt.Errorf("opaque: Secret of version %d has %d bytes, want 16, 24 or 32",
				k.Version, len(k.Secret))
		}
		c.keys[k.Version] = ff1.New(block, 2, 63, []byte(kind))
	}
	return c, nil
}

// Hide returns the code of id, without an allocation. A negative id has none: the result's
// MarshalText fails, and Reveal refuses it.
func (c *Codec) Hide(id uid.ID) ID {
	if id < 0 {
		return ID{-1, c.current}
	}
	return ID{uid.ID(c.keys[c.current].Encrypt(uint64(id))), c.current}
}

// Reveal returns the id that Hide gave the code to, without an allocation. It does not know which
// codes were ever given: a code of another kind, or one that was made up, reveals some id. The
// error wraps ErrVersion, or uid.ErrBadID for the code of a negative id.
func (c *Codec) Reveal(id ID) (uid.ID, error) {
	if id.code < 0 {
		return 0, errNegative
	}
	f := c.keys[id.version]
	if f == nil {
		return 0, fmt.Errorf("%w: %d", ErrVersion, id.version)
	}
	return uid.ID(f.Decrypt(uint64(id.code))), nil
}
