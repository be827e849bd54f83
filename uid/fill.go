package uid

import "context"

// Fill sets every element of ids, in increasing order, for a fraction of Next's price each: whole runs are claimed
// at once. Without GeneBits they are consecutive but for jumps; with GeneBits each id takes its gene from its own sequence
// number. It allocates nothing while it does not wait.
func (c *Cached) Fill(ctx context.Context, ids []ID) (int, error) {
	n, err := c.fill(ctx, ids)
	if c.geneMask != 0 {
		for i, id := range ids[:n] {
			ids[i] = id | id>>c.seqShift&ID(c.geneMask)
		}
	}
	return n, err
}

// FillGene is Fill for a Layout with GeneBits: every id carries the gene of key.
func (c *Cached) FillGene(ctx context.Context, key int64, ids []ID) (int, error) {
	if c.geneMask == 0 {
		return 0, ErrNoGene
	}
	n, err := c.fill(ctx, ids)
	for i := range ids[:n] {
		ids[i] |= ID(key & c.geneMask)
	}
	return n, err
}

// fill sets ids to ids with gene 0.
func (c *Cached) fill(ctx context.Context, ids []ID) (n int, err error) {
	lane := c.tenure.Load().index() // once: only a lane's own ids increase, and a stack may move
	for n < len(ids) {
		t := c.tenure.Load()
		l := &t.lanes[lane]
		if !c.direct {
			if w, got := l.takeN(&c.codec, int64(len(ids)-n)); got > 0 {
				count(ids[n:n+int(got)], c.codec.geneID(t.base, w), c.seqShift)
				n += int(got)
				continue
			}
		}
		got := c.refillN(l, ids[n:])
		if n += got; got > 0 {
			continue
		}
		if err := c.starve(ctx); err != nil {
			return n, err
		}
	}
	return n, nil
}

// refillN is refill for many: it takes as many runs as ids needs, up to a batch, sets ids from them and leaves the rest of the
// last run in the lane. It returns how many ids it set, 0 where refill returns false.
func (c *Cached) refillN(l *lane, ids []ID) int {
	var heads [16]int64
	want := min(len(heads), (len(ids)-1)/int(c.runLen)+1)
	if c.direct {
		if c.closed.Load() {
			return 0
		}
		got := c.ring.TryTakeN(heads[:want])
		for i, head := range heads[:got] {
			ids[i] = ID(head)
		}
		return got
	}
	runs, skip := c.claimRuns(l, heads[:want], len(ids))
	n := 0
	for _, head := range heads[:runs] {
		k := min(int(c.runLen-skip), len(ids)-n)
		count(ids[n:n+k], head+skip<<c.seqShift, c.seqShift)
		n += k
		skip = 0
	}
	return n
}

// claimRuns takes runs from the ring into heads for a used-up lane. The first skip ids of the first run are passed over. What
// n ids leave of the last run is published in the lane.
func (c *Cached) claimRuns(l *lane, heads []int64, n int) (runs int, skip int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.idle(&c.codec) || l.sealed {
		return 0, 0
	}
	if runs = c.ring.TryTakeN(heads); runs == 0 {
		return 0, 0
	}
	skip, l.skip = l.skip, 0
	if over := int64(runs)*c.runLen - skip - int64(n); over > 0 {
		// The word of the last id that is ours.
		l.word.Store(c.wordOf(heads[runs-1]) + uint64(c.runLen-over-1))
	}
	return runs, skip
}

// count sets dst to consecutive ids from first on.
func count(dst []ID, first int64, geneBits uint) {
	if geneBits == 0 {
		for i := range dst {
			dst[i] = ID(first + int64(i))
		}
		return
	}
	for i := range dst {
		dst[i] = ID(first + int64(i)<<geneBits)
	}
}
