# Ringfence. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO       ?= go
BIN      := bin/ringfence
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X github.com/ringfence/ringfence/caddymodule.Version=$(VERSION)
# Runs a command with TEST_POSTGRES_DSN set: the one that is set already, or a private cluster's.
WITH_PG  := $(GO) run ./internal/store/storetest/withpostgres --
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Those whose tests take longest come first: none of them is still running when nothing else is left.
PKGS     ?= ./console ./cmd/ringfence ./confdsvc ./...

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# The release is built with the recorded profile. PGO=off builds for this machine: without it, in half the time where nothing is built yet,
# and with the paths of the sources, like tests and linters, which then need not compile all of Caddy again.
PGO      ?= auto
# Nothing else uses the profile: vet, tests and linters would compile all of Caddy once more with it. Nobody debugs these programs, and what a
# debugger needs takes a sixth of the time of compiling; nor do they need C, without which the release runs anywhere. What the caller says comes last,
# and wins: one is the make around this one.
# Where there are few cores, several packages keep them busy: a second thread for each costs a tenth of the time.
FLAGS    := -dwarf=false$(if $(filter 1 2 3 4,$(shell nproc 2>/dev/null)), -c=1)
PLAIN    := -pgo=off "-gcflags=all=$(FLAGS)"
export GOFLAGS := $(PLAIN) $(GOFLAGS)
export CGO_ENABLED ?= 0
# The compiler and the linter collect their garbage less often: a tenth of their time for half a gigabyte.
COMPILE  := GOGC=400
# SQLite takes longest, and is named first: otherwise Go begins with it when nearly all else is built, and one core waits.
FOR_HERE  = GOBIN='$(abspath $(dir $(BIN)))' $(GO) install -ldflags '$(LDFLAGS)' modernc.org/sqlite

.PHONY: build
build: ## build bin/ringfence
	@echo "Building $(BIN): the first time Go fetches the modules and compiles Caddy, which takes a few minutes"
	$(COMPILE) $(if $(filter off,$(PGO)),$(FOR_HERE),$(GO) build -trimpath -pgo=$(PGO) -ldflags '$(LDFLAGS)' -o $(BIN)) ./cmd/ringfence

.PHONY: run
run: PGO := off
run: build ## build (without the profile) and start the gateway with the Caddyfile
	@echo "Starting the gateway: Ctrl-C stops it, and the folder data keeps what it has"
	$(BIN) run --config Caddyfile

# What is not watched for races, since watching takes most of the tests' time and finds nothing: SQLite is C that was translated to Go, and shares
# no memory with the tests; the others compute. A package that uses sync.Map or sync.OnceValue must be watched, such as encoding/json and
# kin-openapi: it brings a copy of their generic code, the linker keeps one copy for all packages, and an unwatched one hides who waits for whom.
# Pointers that unsafe code makes are checked where that is ours: elsewhere the checks take a quarter of the time. The race detector itself is C.
UNWATCHED := modernc.org/... regexp/... github.com/alecthomas/chroma/... go.yaml.in/yaml/v3
WATCHED  := -race "-gcflags=all=$(FLAGS) -d=checkptr=0" "-gcflags=github.com/ringfence/ringfence/internal/tokens=$(FLAGS)" $(foreach p,$(UNWATCHED),"-gcflags=$p=$(FLAGS) -race=false -d=checkptr=0")
# Nor does a program that ends wait a second for more races.
WATCHING := CGO_ENABLED=1 GORACE=atexit_sleep_ms=0
# The linter has vetted them.
SPARED   := -vet=off

# Some tests wait for servers, browsers and limits of time: meanwhile those of other packages use the core. What they leave behind is collected
# less often. Linking forty programs takes minutes, a fifth of them for tables of symbols that nobody reads.
AT_ONCE  := $(shell expr $$(nproc 2>/dev/null || echo 3) + 2)

.PHONY: test
test: ## all tests, on SQLite and on PostgreSQL (test-race: with the race detector)
	GOGC=400 .ci/in-memory $(WITH_PG) $(GO) test -ldflags=-s $(RACE) -p $(AT_ONCE) -timeout 60m $(PKGS)

.PHONY: test-race
test-race: ## all tests with the race detector, on both databases
	$(WATCHING) GOFLAGS='$(GOFLAGS) $(WATCHED)' $(MAKE) test RACE='$(SPARED)'

.PHONY: test-postgres
test-postgres: ## the tests against the server that TEST_POSTGRES_DSN names
	@test -n "$$TEST_POSTGRES_DSN" || { echo "set TEST_POSTGRES_DSN to a server where databases may be created"; exit 1; }
	$(GO) test $(PKGS)

.PHONY: asterisk-root
asterisk-root: ## put the Asterisk of Debian sid into the folder ASTERISK_ROOT, for test-asterisk (needs root and debootstrap; DEBIAN_MIRROR: from where)
	@test -n "$$ASTERISK_ROOT" -a ! -e "$$ASTERISK_ROOT" || { echo "set ASTERISK_ROOT to a folder that does not exist yet"; exit 1; }
	debootstrap --variant=minbase --include=asterisk sid "$$ASTERISK_ROOT" $$DEBIAN_MIRROR
	chmod -R a+rX "$$ASTERISK_ROOT/etc/asterisk"

.PHONY: test-asterisk
test-asterisk: console/node_modules ## register telephones and place calls at the real Asterisk in ASTERISK_ROOT, or on this machine (needs Node.js and npm)
	$(GO) test -count=1 -v -timeout 20m -run '^TestReal' ./asterisk

# The gate's WebSockets and streams need connections, which the tests of caddymodule make. The others are counted without the race detector,
# beside which counting takes minutes; they need little that is not compiled yet.
STREAMS  := WebSocket|Stream|Upgrade|MalformedBodies|RequestEnds

.PHONY: cover
cover: ## coverage of the ACL language and the gate: at least 95 %
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(GO) test -coverpkg=./internal/gate -coverprofile="$$folder/streams" -run '$(STREAMS)' ./caddymodule || exit 1; \
	for pkg in ./acl ./internal/gate ./internal/target; do \
		GOFLAGS='$(PLAIN)' $(GO) test -coverpkg=$$pkg -coverprofile="$$folder/all" $$pkg || exit 1; \
		[ $$pkg != ./internal/gate ] || tail -n +2 "$$folder/streams" >>"$$folder/all"; \
		pct=$$($(GO) tool cover -func="$$folder/all" | awk '$$1 == "total:" { print $$3 + 0 }'); \
		awk -v p="$$pct" 'BEGIN { exit !(p >= 95) }' || { echo "$$pkg: $$pct % is under 95 %"; exit 1; }; \
		echo "$$pkg: $$pct %"; \
	done

.PHONY: fuzz
fuzz: ## each fuzz target for 30 seconds
	@for pkg in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 30s $$pkg || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## the budgets, as ratios from one run
	$(WITH_PG:--=-durable --) $(GO) run ./internal/bench

.PHONY: profile
profile: ## record the profile that the release build uses (cmd/ringfence/default.pgo)
	$(GO) run ./internal/bench -profile cmd/ringfence/default.pgo

.PHONY: lint
lint: ## golangci-lint, built from source; its govet is go vet
	GOFLAGS='$(PLAIN)' GOBIN='$(CURDIR)/bin' $(COMPILE) $(GO) install -ldflags=-s $(LINT)
	$(COMPILE) bin/golangci-lint run

.PHONY: fmt
fmt: ## format all Go files
	GOFLAGS='$(PLAIN)' $(GO) run -ldflags=-s $(LINT) fmt

.PHONY: generate
generate: ## rewrite the golden files: the definitions and the adapted Caddyfiles
	$(GO) test ./confdsvc ./authsvc ./helpers ./caddymodule -run 'Golden|Definition|Adapt' -update

.PHONY: console-check
console-check: console/node_modules ## format, types and unit tests of the console's scripts (needs Node.js and npm; console-fmt: format them)
	@cd console && npm run --silent check

.PHONY: console-fmt
console-fmt: console/node_modules
	@cd console && npm run --silent format

console/node_modules: console/package-lock.json
	cd console && npm ci --no-audit --no-fund
	@touch $@

# What tests the console's accessibility (MPL-2.0). The copy in the tree is what the tests use.
AXE      := 4.14.1

.PHONY: axe
axe: ## fetch axe-core for the tests of the console again, from its npm package
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	(cd "$$folder" && npm pack --silent axe-core@$(AXE) && tar -xzf axe-core-$(AXE).tgz) && \
	install -m 644 "$$folder"/package/{axe.min.js,LICENSE,LICENSE-3RD-PARTY.txt} console/testdata/axe-core/

# What draws the console's QR codes (MIT), a port of Project Nayuki's generator. The copy in the tree is what the console serves.
UQR      := 0.1.3

.PHONY: uqr
uqr: ## fetch the console's QR code generator again, from its npm package
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	(cd "$$folder" && npm pack --silent uqr@$(UQR) && tar -xzf uqr-$(UQR).tgz) && \
	install -m 644 "$$folder"/package/dist/index.mjs console/assets/vendor/uqr/uqr.js && \
	install -m 644 "$$folder"/package/LICENSE console/assets/vendor/uqr/

.PHONY: quickstart
quickstart: ## the README's quickstart, line by line
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(MAKE) build PGO=off BIN="$$folder/ringfence" && RINGFENCE_BIN="$$folder" examples/quickstart.sh

# All steps compile with the race detector, since to compile Caddy a second time without it takes minutes.
.PHONY: check
check: export GOFLAGS := $(GOFLAGS) $(WATCHED)
check: export CGO_ENABLED := 1
check: ## all that must hold before a change lands
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	$(MAKE) console-check
	$(MAKE) lint
	$(WATCHING) $(MAKE) test RACE='$(SPARED)'
	$(WATCHING) $(MAKE) cover
	$(MAKE) quickstart

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
