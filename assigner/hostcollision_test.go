package assigner

import "math"

// exactDraws is the number of draws up to which collisionProbability adds term by term.
const exactDraws = 1 << 16

// collisionProbability returns the probability that at least two of n instances drew the same
// worker id in [0, maxWorker], each at random and evenly, as Host does: the birthday problem with
// maxWorker+1 days. It is 0 for n below 2, and 1 when n is larger than the number of worker ids.
//
// n counts the instances that run at the same time. Each restart is one more draw against those
// that run. For the default layout's 4,194,304 worker ids it is 1.1e-5 for 10 instances, 1.2e-3
// for 100 and 11 percent for 1,000; for the 1,024 worker ids of Twitter's layout 4.3 percent for
// 10.
//
// The result is good to at least nine digits, however small. It is computed as
// 1 - exp(sum of log(1 - i/m) for i below n) with expm1 and log1p, so that a probability of 1e-15
// does not get lost in 1 - 1.
func collisionProbability(n, maxWorker int64) float64 {
	if n < 2 {
		return 0
	}
	if maxWorker < 0 || n-1 > maxWorker {
		return 1
	}
	m := float64(maxWorker) + 1
	var sum float64
	for i := int64(1); i < min(n, exactDraws); i++ {
		sum += math.Log1p(-float64(i) / m)
	}
	if n > exactDraws {
		sum += logTail(exactDraws, float64(n)-1, m)
	}
	return -math.Expm1(sum)
}

// logTail returns the sum of log(1 - i/m) for i from a to b, both included, by the Euler-Maclaurin
// formula: the integral, half of both ends, and a twelfth of the difference of the slopes. At
// a = 65,536 the first term left out is below 1e-15 of the sum, unless b comes within a few of m,
// where the probability is 1 anyway.
func logTail(a, b, m float64) float64 {
	f := func(x float64) float64 { return math.Log1p(-x / m) }
	slope := func(x float64) float64 { return -1 / (m - x) }
	return -m*(area(b/m)-area(a/m)) + (f(a)+f(b))/2 + (slope(b)-slope(a))/12
}

// area returns the integral of -log(1 - u) from 0 to u, which is (1-u)*log(1-u) + u. For small u
// the two terms cancel, and their series is used: the sum of u^k / (k*(k-1)) for k from 2.
func area(u float64) float64 {
	if u > 0.1 {
		if u >= 1 {
			return 1
		}
		return (1-u)*math.Log1p(-u) + u
	}
	var sum float64
	for k, power := 2.0, u*u; power > sum*1e-17; k++ {
		sum += power / (k * (k - 1))
		power *= u
	}
	return sum
}
