module github.com/uidring/uidring/assigner/zookeeper

go 1.26.0

require github.com/uidring/uidring v0.0.0

require github.com/go-zookeeper/zk v1.0.4

replace github.com/uidring/uidring => ../..
