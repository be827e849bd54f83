package uid

// startSeq returns the sequence number that a tick starts at when the position jumps to it: a hash of the tick and the
// worker id, spread over [0, SeqStart).
//
// Going on at the old number plus one would not do. Modulo 3, the default layout's 2^35 per tick is -1, so that a service
// which takes one id a tick would step by -1 + 1 = 0: all of its ids would fall on one of three shards. A hash has no
// such resonance with any modulus and any rate, needs no state and gives the same ids in the same test twice.
func (c *core) startSeq(tick, worker int64) int64 {
	return int64(mix(uint64(tick)+uint64(worker)*0x9E3779B97F4A7C15) % uint64(c.opts.SeqStart))
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
