package uid_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
)

// decks are what may happen to the parts of a call of the authority, "" for nothing. A part draws
// its deck to the end before that is shuffled again, so everything happens within a dozen calls.
//
// No lie is among them that gives one instant of a worker id to two owners: no generator can
// survive that, and TestSoakFindsDuplicates shows that the soak would notice.
var decks = map[string][]string{
	"request": {"", "", "", "", "refused", "delayed request"},
	"answer":  {"", "", "", "", "lost answer", "delayed answer"},
	// These are lies.
	"extend":   {"", "", "", "untrue loss"},
	"extended": {"", "", "", "untrue loss after extending"},
	"end":      {"", "", "shorter window", "longer window", "same window"},
	"told":     {"", "wrong end"},
	"clock":    {"", "", "wrong time"},
}

// trouble is what happens to the calls of one authority.
type trouble struct {
	mu   sync.Mutex
	rnd  *rand.Rand          // guarded by mu
	left map[string][]string // guarded by mu: of each deck
	met  map[string]int      // guarded by mu: how often each thing has happened
	down bool                // guarded by mu: the authority is away
}

// newTrouble makes the calls of m meet what the decks have.
func newTrouble(m *claimtest.Memory, rnd *rand.Rand) *trouble {
	u := &trouble{rnd: rnd, left: map[string][]string{}, met: map[string]int{}}
	m.Set(func(m *claimtest.Memory) {
		m.Before, m.After = u.meet("request", "extend"), u.meet("answer", "extended")
		m.Grant = u.grant
	})
	return u
}

// draw returns what happens next to a part of a call, and a random duration for it.
func (u *trouble) draw(deck string) (what string, d time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.left[deck]) == 0 {
		u.left[deck] = slices.Clone(decks[deck])
		u.rnd.Shuffle(len(u.left[deck]), func(i, j int) {
			u.left[deck][i], u.left[deck][j] = u.left[deck][j], u.left[deck][i]
		})
	}
	what, u.left[deck] = u.left[deck][0], u.left[deck][1:]
	if deck == "request" && u.down {
		what = "refused"
	}
	if what != "" {
		u.met[what]++
	}
	return what, upTo(u.rnd, pick(u.rnd, time.Millisecond, 30*time.Millisecond, 300*time.Millisecond))
}

// toggle lets the authority come back, or go away at times.
func (u *trouble) toggle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down = !u.down && u.rnd.IntN(4) == 0
}

// meet returns what a call meets on its way to the authority, or on the way back: what deck has, and
// an extension what lies has.
func (u *trouble) meet(deck, lies string) func(context.Context, claimtest.Call) error {
	return func(ctx context.Context, c claimtest.Call) error {
		switch what, d := u.draw(deck); {
		case strings.HasPrefix(what, "delayed"):
			return delay(ctx, d)
		case what != "":
			return errNetwork
		}
		if c.Op == claimtest.OpExtend {
			if what, _ := u.draw(lies); what != "" {
				return assigner.ErrClaimLost
			}
		}
		return nil
	}
}

// delay waits.
func delay(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// grant is Grant.
func (u *trouble) grant(asked time.Time) time.Time {
	switch what, d := u.draw("end"); what {
	case "shorter window":
		return asked.Add(-d)
	case "longer window":
		return asked.Add(100 * d)
	case "same window":
		return time.Time{}
	}
	return asked
}

// troubled is an Assigner whose claims are liars.
type troubled struct {
	assigner.Assigner
	u *trouble
}

func (a troubled) BindLayout(layout string) assigner.Assigner {
	return troubled{a.Assigner.(assigner.LayoutBinder).BindLayout(layout), a.u}
}

func (a troubled) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := a.Assigner.Assign(ctx, maxWorker)
	if err != nil {
		return nil, err
	}
	return liar{c, a.u}, nil
}

// liar is a claim whose authority is wrong about the time, and says of a window's end what it has
// not stored. Window says what it has.
type liar struct {
	assigner.Claim
	u *trouble
}

func (c liar) Now(context.Context) (time.Time, error) {
	if what, d := c.u.draw("clock"); what != "" {
		wrong := d * 100_000 // 8 h 20 min at most
		if d%2 == 1 {
			wrong = -wrong
		}
		return time.Now().Add(wrong), nil
	}
	return time.Now(), nil
}

func (c liar) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	end, err := c.Claim.Extend(ctx, until)
	if what, d := c.u.draw("told"); what != "" {
		return end.Add(10 * d), err
	}
	return end, err
}

// tally is how often each thing happened in all rounds.
type tally map[string]int

// add adds what happened in a round.
func (c tally) add(u *trouble) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for what, n := range u.met {
		c[what] += n
	}
}

// missing returns what the decks have and has not happened.
func (c tally) missing() (all []string) {
	for _, deck := range decks {
		for _, what := range deck {
			if what != "" && c[what] == 0 {
				all = append(all, what)
			}
		}
	}
	return all
}

// String returns "n of this, n of that".
func (c tally) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d %s", c[what], what))
	}
	return strings.Join(parts, ", ")
}
