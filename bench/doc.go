// Package bench is the home of the measurements. It holds no code: the program is cmd/bench, the rivals to the library's
// own design are in rivals, and what is shared lies in internal.
//
// Run it from the repository's root:
//
//	go run ./bench/cmd/bench          # every suite, minutes
//	go run ./bench/cmd/bench -quick   # every suite in reduced form, under two minutes
//
// It writes the raw results to bench/results, one file per suite, and from them, and from nothing else, the page
// docs/benchmarks.md and the charts in docs/charts.
package bench
