package number

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"

	"github.com/uidring/uidring/internal/ff1"
	"github.com/uidring/uidring/uid/opaque"
)

// maxVersion is the highest version of an opaque.Key.
const maxVersion = 3

// hider encrypts counters.
type hider struct {
	keys    [maxVersion + 1]cipher.Block // by version; nil: none
	current int
}

// newHider returns the hider of keys, the first of which is current.
func newHider(keys []opaque.Key) (*hider, error) {
	h := &hider{current: keys[0].Version}
	for _, k := range keys {
		if k.Version < 1 || k.Version > maxVersion {
			return nil, invalid("Version of a key is %d, want 1..%d", k.Version,
				maxVersion)
		}
		if h.keys[k.Version] != nil {
			return nil, invalid("Version %d is given twice", k.Version)
		}
		block, err := aes.NewCipher(k.Secret)
		if err != nil {
			return nil, invalid("Secret of version %d has %d bytes, want 16, 24 or 32",
				k.Version, len(k.Secret))
		}
		h.keys[k.Version] = block
	}
	return h, nil
}

// marks returns a fingerprint of each key by its version. It tells keys apart and nothing else of
// them: it is what the key makes of a block that no number does.
func (h *hider) marks() map[int]string {
	marks := map[int]string{}
	if h == nil {
		return marks
	}
	for version, block := range h.keys {
		if block != nil {
			b := []byte("uidring numbers!")
			block.Encrypt(b, b)
			marks[version] = "key " + hex.EncodeToString(b[:6])
		}
	}
	return marks
}

// of returns the permutation of the counter of a tag. The tag is the tweak, so no two counters have
// the same order of numbers.
func (h *hider) of(f *format, version int, tag string) *ff1.Permutation {
	return ff1.New(h.keys[version], uint64(len(f.counter.chars.chars)), f.counter.max, []byte(tag))
}

// reveal returns the count of a number.
func (h *hider) reveal(f *format, tag string, r reading) (int64, error) {
	version := h.current
	if f.version {
		version = r.version
	}
	if version >= len(h.keys) || h.keys[version] == nil {
		return 0, fmt.Errorf("%w: no key of version %d", ErrText, version)
	}
	return int64(h.of(f, version, tag).Decrypt(uint64(r.count))), nil
}
