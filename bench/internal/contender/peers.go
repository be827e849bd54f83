package contender

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/bwmarrin/snowflake"
	wuidslog "github.com/edwingeng/slog"
	wuid "github.com/edwingeng/wuid/callback/wuid"
	"github.com/google/uuid"
	"github.com/muyo/sno"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
)

// peers returns the libraries that a Go program could use instead. Each is set up as its own documentation shows first;
// a second row with another layout says so in its name.
func peers() []Contender {
	return []Contender{
		{Name: "bwmarrin/snowflake", Module: "github.com/bwmarrin/snowflake", Group: Peer, Bits: 63, Time: true, New: newSnowflake,
			Ceiling: PerTick(1<<12, time.Millisecond, Waits)},
		{Name: "sony/sonyflake", Module: "github.com/sony/sonyflake/v2", Group: Peer, Bits: 63, Time: true,
			New:     func() (*Instance, error) { return newSonyflake(sonyflake.Settings{}) },
			Ceiling: PerTick(1<<8, 10*time.Millisecond, Sleeps)},
		{Name: "sony/sonyflake 15-bit seq, 1 ms", Module: "github.com/sony/sonyflake/v2", Group: Peer, Bits: 63, Time: true,
			New: func() (*Instance, error) {
				return newSonyflake(sonyflake.Settings{BitsSequence: 15, BitsMachineID: 7, TimeUnit: time.Millisecond})
			},
			Ceiling: PerTick(1<<15, time.Millisecond, Sleeps)},
		{Name: "yitter/idgenerator-go", Module: "github.com/yitter/idgenerator-go", Group: Peer, Bits: 63, Time: true,
			New:     func() (*Instance, error) { return newYitter(6) },
			Ceiling: PerTick(1<<6-5, time.Millisecond, Drifts)},
		{Name: "yitter/idgenerator-go 10-bit seq", Module: "github.com/yitter/idgenerator-go", Group: Peer, Bits: 63, Time: true,
			New:     func() (*Instance, error) { return newYitter(10) },
			Ceiling: PerTick(1<<10-5, time.Millisecond, Drifts)},
		{Name: "edwingeng/wuid", Module: "github.com/edwingeng/wuid", Group: Peer, Bits: 63, New: newWUID,
			Note: "a counter below a number from a database; its ids carry no time"},
		{Name: "muyo/sno", Module: "github.com/muyo/sno", Group: Peer, Bits: 80, Time: true, New: newSno,
			Ceiling: PerTick(1<<16, 4*time.Millisecond, Waits),
			Note:    "a change of its time unit sets the time and then the sequence; whoever comes between the two takes a number that is handed out again"},
		{Name: "rs/xid", Module: "github.com/rs/xid", Group: Peer, Bits: 96, Time: true, New: newXID,
			Ceiling: PerTick(1<<24, time.Second, Repeats), Note: "its 24-bit counter wraps around silently"},
		{Name: "google/uuid v4", Module: "github.com/google/uuid", Group: Peer, Bits: 128, New: func() (*Instance, error) { return newUUID(uuid.NewRandom) },
			Note: "random: no order, no time"},
		{Name: "google/uuid v7", Module: "github.com/google/uuid", Group: Peer, Bits: 128, Time: true, New: func() (*Instance, error) { return newUUID(uuid.NewV7) }},
		{Name: "oklog/ulid", Module: "github.com/oklog/ulid/v2", Group: Peer, Bits: 128, Time: true, New: newULID},
		{Name: "segmentio/ksuid", Module: "github.com/segmentio/ksuid", Group: Peer, Bits: 160, Time: true, New: newKSUID},
	}
}

func newSnowflake() (*Instance, error) {
	node, err := snowflake.NewNode(1)
	if err != nil {
		return nil, err
	}
	return &Instance{Close: nothing,
		Keys: integers(func() (int64, error) { return node.Generate().Int64(), nil }),
		Run: func(n int) error {
			for range n {
				node.Generate()
			}
			return nil
		}}, nil
}

func newSonyflake(s sonyflake.Settings) (*Instance, error) {
	s.MachineID = func() (int, error) { return 1, nil }
	sf, err := sonyflake.New(s)
	if err != nil {
		return nil, err
	}
	return &Instance{Close: nothing, Keys: integers(sf.NextID), Run: func(n int) error {
		for range n {
			if _, err := sf.NextID(); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

func newYitter(seqBits byte) (*Instance, error) {
	o := idgen.NewIdGeneratorOptions(1)
	o.SeqBitLength = seqBits
	g := idgen.NewDefaultIdGenerator(o)
	return &Instance{Close: nothing,
		Keys: integers(func() (int64, error) { return g.NewLong(), nil }),
		Run: func(n int) error {
			for range n {
				g.NewLong()
			}
			return nil
		}}, nil
}

func newWUID() (*Instance, error) {
	w := wuid.NewWUID("bench", wuidslog.NewDumbLogger())
	err := w.LoadH28WithCallback(func() (int64, func(), error) { return 1, nil, nil })
	if err != nil {
		return nil, err
	}
	return &Instance{Close: nothing,
		Keys: integers(func() (int64, error) { return w.Next(), nil }),
		Run: func(n int) error {
			for range n {
				w.Next()
			}
			return nil
		}}, nil
}

func newSno() (*Instance, error) {
	g, err := sno.NewGenerator(nil, nil)
	if err != nil {
		return nil, err
	}
	return &Instance{Close: nothing,
		Keys: bytesKeys(func() ([]byte, error) { id := g.New(0); return id[:], nil }),
		Run: func(n int) error {
			for range n {
				g.New(0)
			}
			return nil
		}}, nil
}

func newXID() (*Instance, error) {
	return &Instance{Close: nothing,
		Keys: bytesKeys(func() ([]byte, error) { id := xid.New(); return id[:], nil }),
		Run: func(n int) error {
			for range n {
				xid.New()
			}
			return nil
		}}, nil
}

func newUUID(next func() (uuid.UUID, error)) (*Instance, error) {
	return &Instance{Close: nothing,
		Keys: bytesKeys(func() ([]byte, error) { id, err := next(); return id[:], err }),
		Run: func(n int) error {
			for range n {
				if _, err := next(); err != nil {
					return err
				}
			}
			return nil
		}}, nil
}

func newULID() (*Instance, error) {
	return &Instance{Close: nothing,
		Keys: bytesKeys(func() ([]byte, error) { id := ulid.Make(); return id[:], nil }),
		Run: func(n int) error {
			for range n {
				ulid.Make()
			}
			return nil
		}}, nil
}

func newKSUID() (*Instance, error) {
	return &Instance{Close: nothing,
		Keys: bytesKeys(func() ([]byte, error) { id, err := ksuid.NewRandom(); return id[:], err }),
		Run: func(n int) error {
			for range n {
				if _, err := ksuid.NewRandom(); err != nil {
					return err
				}
			}
			return nil
		}}, nil
}

// errWidth is what a byte string that fits no Key gets.
var errWidth = errors.New("contender: an id of more than 20 bytes")

// bytesKeys returns the Keys of a generator of byte strings of up to 20 bytes.
func bytesKeys(next func() ([]byte, error)) func([]Key) error {
	return func(dst []Key) error {
		var b [20]byte
		for i := range dst {
			id, err := next()
			if err != nil {
				return err
			}
			if len(id) > len(b) {
				return errWidth
			}
			clear(b[copy(b[:], id):])
			dst[i] = Key{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint32(b[16:])}
		}
		return nil
	}
}
