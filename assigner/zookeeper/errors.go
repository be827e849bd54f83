package zookeeper

import "errors"

var (
	// ErrUnavailable says that ZooKeeper did not answer, or that its answer got lost. Temporary.
	// When a ctx ended the wait, the error wraps the ctx's error as well.
	ErrUnavailable = errors.New("assigner/zookeeper: ZooKeeper unavailable")

	// ErrClock says that the local clock cannot be right: it is behind what this instance has
	// stamped already, or away from the clocks of the other instances. It is permanent until the
	// clock is set; see Options.Borrow for the first case.
	ErrClock = errors.New("assigner/zookeeper: local clock refused")

	// ErrClosed says that the Assigner was closed. It is permanent.
	ErrClosed = errors.New("assigner/zookeeper: closed")

	// ErrOptions is what every error about an option wraps. It is permanent: the same options
	// always fail.
	ErrOptions = errors.New("assigner/zookeeper: invalid option")

	// ErrCache says that the cache file is in use, cannot be written, or does not prove a window.
	ErrCache = errors.New("assigner/zookeeper: cache file")
)
