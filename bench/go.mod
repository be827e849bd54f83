module github.com/uidring/uidring/bench

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/bwmarrin/snowflake v0.3.0
	github.com/edwingeng/slog v0.0.0-20221027170832-482f0dfb6247
	github.com/edwingeng/wuid v1.0.0
	github.com/go-sql-driver/mysql v1.10.1
	github.com/google/uuid v1.6.0
	github.com/muyo/sno v1.2.1
	github.com/oklog/ulid/v2 v2.1.2
	github.com/rs/xid v1.6.0
	github.com/segmentio/ksuid v1.0.4
	github.com/sony/sonyflake/v2 v2.2.0
	github.com/uidring/uidring v0.0.0
	github.com/yitter/idgenerator-go v1.3.3
	golang.org/x/sys v0.47.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	go.uber.org/atomic v1.10.0 // indirect
	go.uber.org/multierr v1.8.0 // indirect
	go.uber.org/zap v1.23.0 // indirect
)

replace github.com/uidring/uidring => ..
