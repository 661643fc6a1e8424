# Everything needs Go only, but for interop and bench-peers, whose scripts say what else they install, and conformance and bench, which fetch Go
# modules. bench uses what bench-peers has brought, and says what it leaves out.

.PHONY: build test vet interop conformance bench bench-peers bench-compare clean

build: ## bin/samsa
	CGO_ENABLED=0 go build -trimpath -o bin/samsa ./cmd/samsa

test: ## what `go test ./...` does
	go test ./...

vet: ## static checks, also for the other systems it must build for
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...

interop: ## other people's clients and tools against Samsa
	scripts/interop.sh

conformance: ## the test suites of other people's clients against Samsa, about ten minutes
	scripts/conformance.sh

bench: ## Samsa, Apache Kafka and others side by side; docs/bench.md. Flags of bench/ in BENCH, as BENCH="-quick" or BENCH="-only ^consume"
	cd bench && go run . -docs ../docs $(BENCH)

bench-peers: ## what make bench can use besides Go: Apache Kafka's jars and librdkafka's benchmark
	scripts/interop.sh install
	scripts/bench-rdkafka.sh

bench-compare: ## this tree against another revision in benchstat's format: make bench-compare AGAINST=main~10 BENCH="-only ^produce"
	cd bench && go run . -against $(AGAINST) $(BENCH)

clean:
	rm -rf bin build
