package rivals

import "sync"

// Channel is a buffered channel that a goroutine keeps full: the ring buffer that the language
// already has.
//
// A channel is a ring under one lock, so every id pays for that lock. What is in it was stamped
// when it was put there, which under low demand is long ago: the producer cannot take stale ids out
// without taking part in the consumers' race.
type Channel struct {
	ids  chan int64
	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
}

// NewChannel returns a Channel that stamps ids with worker. It starts a goroutine, which Close
// ends.
func NewChannel(worker int64) *Channel {
	c := &Channel{ids: make(chan int64, perTick<<3), stop: make(chan struct{})}
	c.done.Go(func() {
		compose := newComposer(worker)
		for pos := present(); ; pos++ {
			if pos&seqMask == 0 {
				pos = max(pos, present())
			}
			select {
			case c.ids <- compose.id(pos):
			case <-c.stop:
				return
			}
		}
	})
	return c
}

// Next returns an id. After Close it may block.
func (c *Channel) Next() int64 { return <-c.ids }

// Close ends the goroutine and waits for it.
func (c *Channel) Close() {
	c.once.Do(func() { close(c.stop) })
	c.done.Wait()
}
