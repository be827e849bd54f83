#!/bin/sh
# measure.sh ANCHORS: measure everything twice, so that the second run is the one that is published,
# and write the pages. ANCHORS is what bench/anchors/build.sh has built. The machine is to be idle.
set -eu
cd "$(dirname "$0")/.."
for run in first second; do
	echo "the $run run: $(date -u)"
	go run ./bench/cmd/bench -anchors "$1"
done
go test ./tools/repocheck -count=1 -run TestReadmeBench -update
