module github.com/uidring/uidring/assigner/zookeeper

go 1.25.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/uidring/uidring v0.0.0
)

require golang.org/x/sys v0.47.0 // indirect

replace github.com/uidring/uidring => ../..
