package compat

import "time"

// keyWorkerSince is the instant, in milliseconds since 1970, from which the time field of the
// original's ids really counts.
//
// The original subtracts 12888349746579, Twitter's epoch with a digit too many: an instant in the
// year 2378. The difference is negative, and only its low 42 bits remain when it is shifted left by
// 22. So adding a multiple of 2^42 ms (139 years) to the epoch changes no id. Three of them below
// it is the only epoch whose 139 years hold the life of the program: 1960-04-23T18:23:33.267Z to
// 2099-09-05T01:58:44.371Z.
const keyWorkerSince = 12888349746579 - 3<<42

// DecodeKeyWorker takes an id of the original machine-and-process snowflake apart, its negative
// ones included: 42 bits of time, 5 of process, 5 of machine, 12 of sequence. It is exact for
// everything stamped from 1960 to 2099.
//
// For new ids use Twitter. The original has 42 bits of time, of which the highest is the sign, and
// an epoch with a digit too many: its ids turn negative at 2029-12-29T10:11:08.819Z. Twitter's ids
// are smaller. They reach the first that the original could write (in November 2010) in May 2061,
// so no new id equals an old one before.
func DecodeKeyWorker(id int64) (t time.Time, process, machine, seq int64) {
	tick := int64(uint64(id) >> 22)
	return time.UnixMilli(keyWorkerSince + tick).UTC(), id >> 17 & 31, id >> 12 & 31, id & 4095
}
