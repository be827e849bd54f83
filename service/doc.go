// Package service serves ids over HTTP, is the client of such a service, and shows the generators
// of a process.
//
// # Server
//
// NewHandler's handler answers at the addresses that Leaf's clients call:
//
//	/api/segment/get/{key}     an id of the tag, as plain decimal text
//	/api/snowflake/get/{key}   a time-ordered id, as plain decimal text; the key is ignored
//	...?count=N                1 to N ids as a JSON array of decimal strings; N is 1..1000
//	/api/number/get/{name}?shop=BJ
//	                           a number that people read; the parameters are the keys of its
//	                           format, and count as above
//	POST /api/segment/range/{key}
//	                           a range of ids to count through, as JSON
//	...?count=N                a range of about N ids
//	POST /api/worker/assign, extend, release, now
//	                           worker ids with their windows, as JSON
//	/decodeSnowflakeId?snowflakeId=N
//	                           the parts of a time-ordered id, as JSON
//	/openapi.json              the description of these routes, as OpenAPI
//	/health                    "up", "degraded" or "down", as JSON
//	/ and /cache               the status page
//
// Leaf answers every failure with 500. Here the status tells a client what to do: 404 is an unknown
// tag, 503 with Retry-After a temporary failure, and 500 a permanent one. Only GET and POST hand
// out ids, so a probe with HEAD or OPTIONS uses none up. A Client calls the range and worker
// routes.
//
// The handler has no authentication and hands ids to every client, except to browsers on behalf of
// a page of another origin, which get 403. Its page shows the texts of errors, which name hosts and
// tables unless HandlerOptions.ErrorText hides them. Serve it on a loopback or private address. A
// key that the source did not know is refused for a second without asking it again, for up to 1,000
// keys. If the segment.Generator has Options.Listed, the source is never asked about one. Slow
// clients are bounded by the timeouts of the http.Server.
//
// # Client
//
// A Client is for programs that have no database of their own. It is a segment.Source and an
// assigner.Assigner, so the generators are the same as with a database:
//
//	c, err := service.NewClient([]string{"http://ids-1:8080", "http://ids-2:8080"},
//		&service.ClientOptions{Token: token})
//
//	// short, dense ids per tag
//	orders, err := segment.New(ctx, c, nil)
//
//	// time-ordered ids
//	gen, err := uid.NewCached(ctx, c, &uid.Options{Layout: compat.Twitter()})
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
// # Generators of this process
//
// Health answers probes, and Page is a page for people. They need no NewHandler:
//
//	mux.Handle("/healthz", service.Health(gen))
//	page := service.NewPage(map[string]uid.Generator{"orders": gen})
//	defer page.Close()
//	mux.Handle("/debug/uid", page)
//
// The page shows worker ids, windows, and the texts of errors with the hosts and tables in them.
// There is no authentication: serve it on a loopback or private address.
//
// The package uses no third-party code but golang.org/x/sys.
package service
