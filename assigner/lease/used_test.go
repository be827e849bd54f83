package lease

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUsed compares used with a set.
func TestUsed(t *testing.T) {
	t.Parallel()
	const limit = 40
	for range 200 {
		var u used
		var set [limit]bool
		for range 30 {
			first := rand.Int64N(limit)
			end := first + 1 + rand.Int64N(min(3, limit-first))
			u = u.with(first, end)
			for n := first; n < end; n++ {
				set[n] = true
			}
			if !u.valid() {
				t.Fatalf("%v is out of order", u)
			}
			from := rand.Int64N(limit)
			want := from
			for want < limit && set[want] {
				want++
			}
			skip := rand.Int64N(4)
			for left := skip; want < limit && left > 0; left-- {
				for want++; want < limit && set[want]; want++ {
				}
			}
			n, ok := u.unused(from, limit-1, skip)
			if ok != (want < limit) || ok && n != want {
				t.Fatalf("%v.unused(%d, %d) = %d, %v, want %d", u, from, skip, n, ok, want)
			}
			if got, want := setOf(u, limit), set[:]; !slices.Equal(got, want) {
				t.Fatalf("%v has %v, want %v", u, got, want)
			}
		}
	}
}

// setOf returns which of the numbers below limit are in u.
func setOf(u used, limit int64) []bool {
	set := make([]bool, limit)
	for n := range limit {
		set[n] = u.has(n)
	}
	return set
}

// randomUsed returns ranges of numbers from 1 on below limit.
func randomUsed(limit int64) (u used) {
	for range rand.IntN(6) {
		first := 1 + rand.Int64N(limit-1)
		u = u.with(first, first+1+rand.Int64N(min(4, limit-first)))
	}
	return u
}

// TestUsedSets compares what a move does with lists of used worker ids with what it does with sets.
func TestUsedSets(t *testing.T) {
	t.Parallel()
	const limit = 24
	for range 500 {
		u, o := randomUsed(limit), randomUsed(limit)
		without := u.without(o)
		of, not, left := setOf(u, limit), setOf(o, limit), setOf(without, limit)
		count, below, end := int64(0), int64(0), rand.Int64N(limit)
		for n := range int64(limit) {
			if left[n] != (of[n] && !not[n]) {
				t.Fatalf("%v without %v = %v", u, o, without)
			}
			if of[n] {
				count++
			}
			if of[n] && n < end {
				below++
			}
		}
		if !without.valid() || u.count() != count || u.below(end) != below {
			t.Fatalf("%v without %v = %v; %d numbers, want %d; %d below %d, want %d", u, o, without,
				u.count(), count, u.below(end), end, below)
		}
	}
}

// TestUsedWithin: a list that is cut short has the numbers that it had, and the smallest gaps.
func TestUsedWithin(t *testing.T) {
	t.Parallel()
	u := used{{1, 2}, {4, 5}, {6, 8}, {9, 10}, {20, 30}}
	for n, want := range map[int]used{
		6: u, 5: u,
		4: nil, // either gap of one
		3: {{1, 2}, {4, 10}, {20, 30}},
		2: {{1, 10}, {20, 30}},
		1: {{1, 30}},
	} {
		got := u.within(n)
		if want != nil && !slices.Equal(got, want) || len(got) > n || got.count() < u.count() {
			t.Errorf("within(%d) = %v, want %v", n, got, want)
		}
	}
	for text, want := range map[string]bool{
		"[]": true, "[[0,1]]": true, "[[0,1],[2,3]]": true, "[[0,1],[1,2]]": false, "[[1,2],[0,1]]": false,
		"[[1,1]]": false, "[[1,0]]": false, "[[-1,0]]": false, "[[0,1],[2,2]]": false,
	} {
		var u used
		if err := json.Unmarshal([]byte(text), &u); err != nil || u.valid() != want {
			t.Errorf("%s is valid: %v, %v, want %v", text, u.valid(), err, want)
		}
	}
}
