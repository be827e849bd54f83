// Package bench is the home of the measurements. It holds no code: the program is cmd/bench, the
// designs that were not chosen are in rivals, and what they share is in internal.
//
// Run it from the repository's root:
//
//	go run ./bench/cmd/bench          # every suite
//	go run ./bench/cmd/bench -quick   # every suite, with few and short measurements
//
// It writes the raw results to bench/results, one file per suite, and from them alone the page
// bench/README.md and the charts in docs/charts.
package bench
