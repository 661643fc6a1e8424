# Everything needs Go only, but for interop and bench, whose script says what else it installs, and conformance, which fetches Go modules.

.PHONY: build test vet interop conformance bench clean

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

bench: ## Samsa and Apache Kafka alternately, in one run; a table on standard output
	scripts/interop.sh install
	cd bench && go run . -jars "$${XDG_CACHE_HOME:-$$HOME/.cache}/samsa-interop/kafka-4.4.0"

clean:
	rm -rf bin build
