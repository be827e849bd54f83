package contender

import (
	"encoding/binary"
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

// WUID is a peer that a target is measured against, Sno one that is known to repeat ids.
const (
	WUID = "edwingeng/wuid"
	Sno  = "muyo/sno"
)

// peers returns the libraries that a Go program could use instead. Each is set up as its own
// documentation shows first; a second row with another layout says so in its name.
func peers() []Contender {
	wideSony := sonyflake.Settings{BitsSequence: 15, BitsMachineID: 7, TimeUnit: time.Millisecond}
	list := []Contender{
		{Name: "bwmarrin/snowflake", Module: "github.com/bwmarrin/snowflake", Bits: 63, Time: true,
			New: newSnowflake, Rate: perTick(1<<12, time.Millisecond, Waits)},
		{Name: "sony/sonyflake", Module: "github.com/sony/sonyflake/v2", Bits: 63, Time: true,
			New:  newSonyflake(sonyflake.Settings{}),
			Rate: perTick(1<<8, 10*time.Millisecond, Waits)},
		{Name: "sony/sonyflake 15-bit seq, 1 ms", Module: "github.com/sony/sonyflake/v2", Bits: 63,
			Time: true, New: newSonyflake(wideSony), Rate: perTick(1<<15, time.Millisecond, Waits)},
		{Name: "yitter/idgenerator-go", Module: "github.com/yitter/idgenerator-go", Bits: 63,
			Time: true, New: newYitter(6), Rate: perTick(1<<6-5, time.Millisecond, Drifts)},
		{Name: "yitter/idgenerator-go 10-bit seq", Module: "github.com/yitter/idgenerator-go",
			Bits: 63, Time: true, New: newYitter(10),
			Rate: perTick(1<<10-5, time.Millisecond, Drifts)},
		{Name: WUID, Module: "github.com/edwingeng/wuid", Bits: 63, New: newWUID,
			Note: "a counter below a number from a database; its ids carry no time"},
		{Name: Sno, Module: "github.com/muyo/sno", Bits: 80, Time: true,
			New: newSno, Rate: perTick(1<<16, 4*time.Millisecond, Waits),
			Note: "sets the time and then the sequence; a caller between the two gets a " +
				"used number"},
		{Name: "rs/xid", Module: "github.com/rs/xid", Bits: 96, Time: true,
			New: startless(func() Instance { return xids{} }), Rate: second(24, Repeats),
			Note: "its 24-bit counter wraps around silently"},
		{Name: "google/uuid v4", Module: "github.com/google/uuid", Bits: 128, Allocs: true,
			New: startless(func() Instance { return uuid4{} }), Note: "random: no order, no time"},
		{Name: "google/uuid v7", Module: "github.com/google/uuid", Bits: 128, Time: true,
			Allocs: true, New: startless(func() Instance { return uuid7{} })},
		{Name: "oklog/ulid", Module: "github.com/oklog/ulid/v2", Bits: 128, Time: true,
			Allocs: true, New: startless(func() Instance { return ulids{} })},
		{Name: "segmentio/ksuid", Module: "github.com/segmentio/ksuid", Bits: 160, Time: true,
			New: startless(func() Instance { return ksuids{} })},
	}
	for i := range list {
		list[i].Group = Peer
	}
	return list
}

type flake struct {
	open
	n *snowflake.Node
}

func newSnowflake() (Instance, error) {
	n, err := snowflake.NewNode(worker)
	return flake{n: n}, err
}

func (f flake) Run(n int) error {
	for range n {
		f.n.Generate()
	}
	return nil
}

func (f flake) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { return integer(f.n.Generate().Int64()), nil })
}

type sony struct {
	open
	s *sonyflake.Sonyflake
}

func newSonyflake(set sonyflake.Settings) func() (Instance, error) {
	set.MachineID = func() (int, error) { return worker, nil }
	return func() (Instance, error) {
		s, err := sonyflake.New(set)
		return sony{s: s}, err
	}
}

func (s sony) Run(n int) error {
	for range n {
		if _, err := s.s.NextID(); err != nil {
			return err
		}
	}
	return nil
}

func (s sony) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { id, err := s.s.NextID(); return integer(id), err })
}

type yitter struct {
	open
	g *idgen.DefaultIdGenerator
}

func newYitter(seqBits byte) func() (Instance, error) {
	return startless(func() Instance {
		o := idgen.NewIdGeneratorOptions(worker)
		o.SeqBitLength = seqBits
		return yitter{g: idgen.NewDefaultIdGenerator(o)}
	})
}

func (y yitter) Run(n int) error {
	for range n {
		y.g.NewLong()
	}
	return nil
}

func (y yitter) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { return integer(y.g.NewLong()), nil })
}

type wuids struct {
	open
	w *wuid.WUID
}

func newWUID() (Instance, error) {
	w := wuid.NewWUID("bench", wuidslog.NewDumbLogger())
	return wuids{w: w}, w.LoadH28WithCallback(func() (int64, func(), error) { return 1, nil, nil })
}

func (w wuids) Run(n int) error {
	for range n {
		w.w.Next()
	}
	return nil
}

func (w wuids) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { return integer(w.w.Next()), nil })
}

type snos struct {
	open
	g *sno.Generator
}

func newSno() (Instance, error) {
	g, err := sno.NewGenerator(nil, nil)
	return snos{g: g}, err
}

func (s snos) Run(n int) error {
	for range n {
		s.g.New(0)
	}
	return nil
}

func (s snos) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { id := s.g.New(0); return bytesKey(id[:]), nil })
}

type xids struct{ open }

func (xids) Run(n int) error {
	for range n {
		xid.New()
	}
	return nil
}

func (xids) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { id := xid.New(); return bytesKey(id[:]), nil })
}

type uuid4 struct{ open }

func (uuid4) Run(n int) error {
	for range n {
		if _, err := uuid.NewRandom(); err != nil {
			return err
		}
	}
	return nil
}

func (uuid4) Keys(dst []Key) error {
	return each(dst, func() (Key, error) {
		id, err := uuid.NewRandom()
		return bytesKey(id[:]), err
	})
}

type uuid7 struct{ open }

func (uuid7) Run(n int) error {
	for range n {
		if _, err := uuid.NewV7(); err != nil {
			return err
		}
	}
	return nil
}

func (uuid7) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { id, err := uuid.NewV7(); return bytesKey(id[:]), err })
}

type ulids struct{ open }

func (ulids) Run(n int) error {
	for range n {
		ulid.Make()
	}
	return nil
}

func (ulids) Keys(dst []Key) error {
	return each(dst, func() (Key, error) { id := ulid.Make(); return bytesKey(id[:]), nil })
}

type ksuids struct{ open }

func (ksuids) Run(n int) error {
	for range n {
		if _, err := ksuid.NewRandom(); err != nil {
			return err
		}
	}
	return nil
}

func (ksuids) Keys(dst []Key) error {
	return each(dst, func() (Key, error) {
		id, err := ksuid.NewRandom()
		return bytesKey(id[:]), err
	})
}

// bytesKey returns the key of an id of up to 20 bytes, the length of the longest.
func bytesKey(id []byte) Key {
	var b [20]byte
	copy(b[:], id)
	e := binary.BigEndian
	return Key{e.Uint64(b[:]), e.Uint64(b[8:]), e.Uint32(b[16:])}
}
