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
	GoUUID7  = "uuid v7 (Go's own)"
	Drifting = "yitter/idgenerator-go"
)

// peers returns the libraries that a Go program could use instead. Each is set up as its own
// documentation shows first; a second row with another layout says so in its name.
func peers() []Contender {
	row := func(name string, bits int, r Rate, note string, start func() (Loop, func(), error),
	) Contender {
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
			plain(xids)),
		row("google/uuid v4", 128, Rate{}, "random: no order, no time", plain(uuid4)),
		row(UUID7, 128, Rate{}, "", plain(uuid7)),
		row(GoUUID7, 128, Rate{}, "the standard library's, since Go 1.27", standard),
		row("oklog/ulid", 128, Rate{}, "", plain(ulids)),
		row("segmentio/ksuid", 160, Rate{}, "", plain(ksuids)),
	}
}

func flake() (Loop, func(), error) {
	g, err := snowflake.NewNode(worker)
	return func(n int) error {
		for range n {
			g.Generate()
		}
		return nil
	}, func() {}, err
}

func sony(set sonyflake.Settings) func() (Loop, func(), error) {
	set.MachineID = func() (int, error) { return worker, nil }
	return func() (Loop, func(), error) {
		g, err := sonyflake.New(set)
		return func(n int) error {
			for range n {
				if _, err := g.NextID(); err != nil {
					return err
				}
			}
			return nil
		}, func() {}, err
	}
}

func yitter(seqBits byte) func() (Loop, func(), error) {
	return free(func() Loop {
		o := idgen.NewIdGeneratorOptions(worker)
		o.SeqBitLength = seqBits
		g := idgen.NewDefaultIdGenerator(o)
		return func(n int) error {
			for range n {
				g.NewLong()
			}
			return nil
		}
	})
}

func wuids() (Loop, func(), error) {
	g := wuid.NewWUID("bench", wuidslog.NewDumbLogger())
	return func(n int) error {
		for range n {
			g.Next()
		}
		return nil
	}, func() {}, g.LoadH28WithCallback(func() (int64, func(), error) { return 1, nil, nil })
}

func snos() (Loop, func(), error) {
	g, err := sno.NewGenerator(nil, nil)
	return func(n int) error {
		for range n {
			g.New(0)
		}
		return nil
	}, func() {}, err
}

func xids(n int) error {
	for range n {
		xid.New()
	}
	return nil
}

func uuid4(n int) (err error) {
	for i := 0; i < n && err == nil; i++ {
		_, err = uuid.NewRandom()
	}
	return err
}

func uuid7(n int) (err error) {
	for i := 0; i < n && err == nil; i++ {
		_, err = uuid.NewV7()
	}
	return err
}

func ulids(n int) error {
	for range n {
		ulid.Make()
	}
	return nil
}

func ksuids(n int) (err error) {
	for i := 0; i < n && err == nil; i++ {
		_, err = ksuid.NewRandom()
	}
	return err
}
