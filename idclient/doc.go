// Package idclient is the client of an id service: of "uid serve", or of any server that uses
// package idhttp. It is for programs that have no database of their own. A Client is a
// segment.Source and an assigner.Assigner, so the generators are the same as with a database:
//
//	c, err := idclient.New([]string{"http://ids-1:8080", "http://ids-2:8080"},
//		&idclient.Options{Token: token})
//
//	// short, dense ids per tag
//	orders, err := segment.New(ctx, c, nil)
//
//	// time-ordered ids
//	gen, err := uid.NewCached(ctx, c, &uid.Options{Layout: bitsalloc.Leaf()})
//
// Both generators make ids in this process and ask the service ahead of demand. While the service
// is away, a segment.Generator goes on for as long as its two ranges of a tag last, and a generator
// of time-ordered ids goes on to the end of its window, which it extends halfway through.
//
// All servers of a Client must use the same database: two databases hand out equal ids.
//
// A Client asks the servers in turn, starting with the one that answered last, until one answers.
// When all of them fail, segment.Generator repeats a fetch, the generators of package uid repeat an
// extension, and Assign repeats itself. Each pauses for a growing and partly random time.
//
// The package uses no third-party code but golang.org/x/sys.
package idclient
