// Package bench is the home of the measurements. Its Go benchmarks measure what takes no turns with
// anything; cmd/bench runs them and everything else. What Java generators are measured with is in
// anchors, and what the program is made of is in internal.
//
// Run it from the repository's root:
//
//	go run ./bench/cmd/bench          # every suite but anchors
//	go run ./bench/cmd/bench -quick   # the same, with few and short measurements
//
// It writes the raw results to bench/results, one file per suite, and from them alone the page
// bench/README.md and the charts in docs/charts.
package bench
