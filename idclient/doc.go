// Package idclient is the client of an id service, "uid serve" or another server with package
// idhttp, for programs that have no database of their own. A Client is a segment.Source and an
// assigner.Assigner, so the generators are the same as with a database:
//
//	c, err := idclient.New([]string{"http://ids-1:8080", "http://ids-2:8080"}, &idclient.Options{Token: token})
//	orders, err := segment.New(ctx, c, nil)                    // short, dense ids per tag
//	gen, err := uid.NewCached(ctx, c, &uid.Options{Layout: bitsalloc.Leaf()}) // time-ordered ids
//
// Both make their ids in this process, and ask the service ahead of need. A segment.Generator has
// two ranges of a tag and goes on without the service for as long as those last. A generator of
// time-ordered ids goes on to the end of its window, which it extends at half.
//
// Servers are asked in turn, beginning with the one that answered last, until one answers. What
// repeats a request that all of them have failed is the caller: segment.Generator after a fetch,
// the generators of package uid after an extension, and Assign itself, each with pauses that grow
// and are cut at random.
package idclient
