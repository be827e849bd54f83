// Package zookeeper assigns worker ids from ZooKeeper.
package zookeeper
