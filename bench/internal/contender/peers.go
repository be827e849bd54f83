package contender

import (
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

// Names of peers that others refer to. Drifting borrows 2,000 ticks before it waits.
const (
	WUID     = "edwingeng/wuid"
	Bwmarrin = "bwmarrin/snowflake"
	Sony     = "sony/sonyflake 15-bit seq, 1 ms"
	UUID7    = "google/uuid v7"
	Drifting = "yitter/idgenerator-go"

	Baidu = "Baidu CachedUidGenerator (Java)"
	Chain = "CosId SegmentChainId (Java)"
	Leaf  = "Leaf SegmentIDGenImpl (Java)"
)

// java returns what a Go program cannot call: another suite measures it.
func java() []Contender {
	row := func(name string, r Rate) Contender { return Contender{name, Java, "", 63, r, "", nil} }
	return []Contender{row(Baidu, second(13, false)), row(Chain, Rate{}), row(Leaf, Rate{})}
}

// peers returns the libraries that a Go program could use instead. Each is set up as its own
// documentation shows first; a second row with another layout says so in its name.
func peers() []Contender {
	row := func(name string, bits int, r Rate, note string, start Start) Contender {
		return Contender{name, Peer, AddCalled, bits, r, note, start}
	}
	const ms = time.Millisecond
	wide := sonyflake.Settings{BitsSequence: 15, BitsMachineID: 7, TimeUnit: ms}
	return []Contender{
		row(Bwmarrin, 63, perTick(1<<12, ms, true), "", flake),
		row("sony/sonyflake", 63, perTick(1<<8, 10*ms, true), "", sony(sonyflake.Settings{})),
		row(Sony, 63, perTick(1<<15, ms, true), "", sony(wide)),
		row(Drifting, 63, perTick(1<<6-5, ms, true), "", yitter(6)),
		row("yitter/idgenerator-go 10-bit seq", 63, perTick(1<<10-5, ms, false), "", yitter(10)),
		row(WUID, 63, Rate{}, "a counter below a number from a database; its ids carry no time",
			wuids),
		row("muyo/sno", 80, perTick(1<<16, 4*ms, true), "", snos),
		row("rs/xid", 96, second(24, false), "its 24-bit counter wraps around silently",
			Plain(func(n int) error {
				return repeat(n, func() error { xid.New(); return nil })
			})),
		row("google/uuid v4", 128, Rate{}, "random: no order, no time", Plain(func(n int) error {
			return repeat(n, func() error { _, err := uuid.NewRandom(); return err })
		})),
		row(UUID7, 128, Rate{}, "", Plain(func(n int) error {
			return repeat(n, func() error { _, err := uuid.NewV7(); return err })
		})),
		row("uuid v7 (Go's own)", 128, Rate{}, "the standard library's, since Go 1.27", standard),
		row("oklog/ulid", 128, Rate{}, "", Plain(func(n int) error {
			return repeat(n, func() error { ulid.Make(); return nil })
		})),
		row("segmentio/ksuid", 160, Rate{}, "", Plain(func(n int) error {
			return repeat(n, func() error { _, err := ksuid.NewRandom(); return err })
		})),
	}
}

func flake() (Loop, func() error, error) {
	g, err := snowflake.NewNode(worker)
	return func(n int) error {
		return repeat(n, func() error { g.Generate(); return nil })
	}, nil, err
}

//go:noinline
func sony(set sonyflake.Settings) Start {
	set.MachineID = func() (int, error) { return worker, nil }
	return func() (Loop, func() error, error) {
		g, err := sonyflake.New(set)
		return func(n int) error {
			return repeat(n, func() error { _, err := g.NextID(); return err })
		}, nil, err
	}
}

//go:noinline
func yitter(seqBits byte) Start {
	return func() (Loop, func() error, error) {
		o := idgen.NewIdGeneratorOptions(worker)
		o.SeqBitLength = seqBits
		g := idgen.NewDefaultIdGenerator(o)
		return func(n int) error {
			return repeat(n, func() error { g.NewLong(); return nil })
		}, nil, nil
	}
}

func wuids() (Loop, func() error, error) {
	g := wuid.NewWUID("bench", wuidslog.NewDumbLogger())
	return func(n int) error {
		return repeat(n, func() error { g.Next(); return nil })
	}, nil, g.LoadH28WithCallback(func() (int64, func(), error) { return 1, nil, nil })
}

func snos() (Loop, func() error, error) {
	g, err := sno.NewGenerator(nil, nil)
	return func(n int) error {
		return repeat(n, func() error { g.New(0); return nil })
	}, nil, err
}
