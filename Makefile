# What a change must pass; CONTRIBUTING.md says when to run what. Needs only Go and make; each target says what else it
# would use. Everything runs from this folder, over all modules of go.work.

GO        ?= go
TESTFLAGS ?=
FUZZTIME  ?= 10s
BENCHFLAGS ?=
SOAKTIME  ?= 10m

# The folders of the modules, the root module first.
modules = $$($(GO) list -m -f '{{.Dir}}')

# A module on its own, as whoever downloads it sees it: the workspace is switched off.
alone = GOWORK=off $(GO)

.PHONY: help all test cover fuzz lint cross minimum model soak bench bench-quick clean

help: ## This list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

all: lint test ## What a change must pass at the least.

test: ## All tests of all modules, with the race detector where it works, on the servers that this machine has.
	@$(GO) run ./internal/testrun $(TESTFLAGS)

cover: ## Statement coverage of the root module, function by function in coverage.html.
	$(GO) test -coverprofile=coverage.out -coverpkg=./... ./...
	$(GO) tool cover -html=coverage.out -o coverage.html
	@$(GO) tool cover -func=coverage.out | tail -n 1

fuzz: ## Every fuzz target of every module for FUZZTIME (10s).
	@set -e; find . -name '*_test.go' -exec grep -l '^func Fuzz' {} + | sort | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "fuzz $$target in $$file"; \
			$(GO) test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) "$$(dirname "$$file")"; \
		done; \
	done

lint: bin/golangci-lint ## gofmt, go vet, golangci-lint, go.mod and go.sum of every module.
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt: these files are not formatted:"; echo "$$files"; exit 1; fi
	$(GO) vet work
	@set -e; for m in $(modules); do echo "go mod tidy, verify: $$m"; $(alone) -C "$$m" mod tidy -diff; $(alone) -C "$$m" mod verify >/dev/null; done
	@set -e; for m in $(modules); do echo "golangci-lint: $$m"; (cd "$$m" && "$(CURDIR)/bin/golangci-lint" run ./...); done

# Built from source at the version and checksum of tools/go.mod, which takes minutes the first time.
bin/golangci-lint: tools/go.mod tools/go.sum
	$(alone) -C tools build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

cross: ## Every module by itself (GOWORK=off), for this machine, for 386 and for arm64; the core's tests on 386 where they run.
	@set -e; for m in $(modules); do \
		echo "$$($(GO) env GOARCH): $$m"; \
		$(alone) -C "$$m" build -o /dev/null ./...; \
		$(alone) -C "$$m" vet ./...; \
		for arch in 386 arm64; do \
			echo "$$arch: $$m"; \
			GOARCH=$$arch CGO_ENABLED=0 $(alone) -C "$$m" build -o /dev/null ./...; \
			GOARCH=$$arch CGO_ENABLED=0 $(alone) -C "$$m" vet ./...; \
		done; \
	done
	@for os in darwin windows; do echo "$$os"; GOOS=$$os CGO_ENABLED=0 $(alone) vet ./... || exit 1; done
	@if [ "$$($(GO) env GOOS)/$$($(GO) env GOARCH)" = linux/amd64 ]; then \
		GOARCH=386 CGO_ENABLED=0 $(GO) test -short ./bitsalloc ./ringbuffer ./assigner ./uid; \
	else echo "skipped: 386 tests: they run on linux/amd64 only"; fi

minimum: ## The root module with exactly the Go release that its go line names, which the go command downloads.
	GOTOOLCHAIN=go$$($(alone) list -m -f '{{.GoVersion}}') $(alone) vet ./...

model: ## The models in docs/model, checked by spin.
	sh docs/model/check.sh

soak: ## Faults, crashes and clock steps for SOAKTIME (10m), every id checked.
	$(GO) run ./e2e/soak -duration $(SOAKTIME)

bench: ## The whole report: docs/benchmarks.md, its charts, the figures in the READMEs. Minutes.
	$(GO) run ./bench/cmd/bench $(BENCHFLAGS)
	$(GO) test ./internal/repocheck -count=1 -run=TestReadmeBench -update

bench-quick: ## The same in under two minutes, with fewer repetitions.
	$(GO) run ./bench/cmd/bench -quick $(BENCHFLAGS)
	$(GO) test ./internal/repocheck -count=1 -run=TestReadmeBench -update

clean: ## Remove what these targets made.
	rm -rf bin coverage.out coverage.html
