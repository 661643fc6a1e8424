# franz-go's integration tests. What they run they decide from ApiVersions.

module github.com/twmb/franz-go || return 0
(cd "$src" && GOFLAGS=-mod=mod go test -c -o "$dir/kgo.test" ./pkg/kgo) >"$dir/setup" 2>&1 || return 0
broker --listen 127.0.0.1:0 --set group.consumer.heartbeat.interval.ms=1000 --set group.consumer.min.heartbeat.interval.ms=1000 || return 0
run "$src/pkg/kgo" env KGO_SEEDS="$address" KGO_TEST_RF=1 KGO_TEST_RECORDS="${RECORDS:-50000}" KGO_LOG_LEVEL=none KGO_TEST_CHAOS="${chaos:-}" "$dir/kgo.test" -test.timeout 10m -test.v
