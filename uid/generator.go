package uid

import "context"

// Generator is what Cached and Default have in common. All methods are safe for concurrent use.
type Generator interface {
	// Next returns an id that no other call, on any generator with a disjoint claim, ever returns.
	// It reads ctx only when it has to wait.
	Next(ctx context.Context) (ID, error)

	// Fill sets every element of ids to an id of its own and returns how many it set: len(ids), or
	// fewer together with the error that stopped it. The ids ids[:n] are valid either way.
	Fill(ctx context.Context, ids []ID) (n int, err error)

	// NextGene is Next for a Layout with GeneBits: the id's low GeneBits bits are the low bits of
	// key. Without GeneBits it fails with ErrNoGene.
	NextGene(ctx context.Context, key int64) (ID, error)

	// FillGene is Fill for a Layout with GeneBits: every id carries the gene of key. Without
	// GeneBits it fails with ErrNoGene.
	FillGene(ctx context.Context, key int64, ids []ID) (n int, err error)

	// Parse takes an id of this generator's layout apart.
	Parse(ID) Parts

	// Stats returns a snapshot. Next does not wait for it: Default takes no lock for it while the
	// clock is steady, and Cached each lane's for a few loads, which only a refill of that lane
	// takes too.
	Stats() Stats

	// Close stops the generator, gives the unused rest of its claim back and waits for its
	// goroutines: for up to five seconds for the authority, and for a log handler or a PutFunc that
	// runs. Calls from then on fail with ErrClosed. An error says that the authority was not told,
	// and the worker id stays reserved to the window's end. Closing twice does nothing and returns
	// the first result.
	Close() error
}
