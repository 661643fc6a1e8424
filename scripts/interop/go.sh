# The Go tests of interop/: sarama, kafka-go, librdkafka and franz-go, against a broker of their own or BROKER.

if ! (cd "$root/interop" && BROKER=$given_broker go test -count=1 -timeout 5m -parallel 4 -v ./...) >>"$log" 2>&1; then
  bad "go test ./... in interop/"
fi
# Subtests are counted: each is a client, a codec or a version.
passed=$((passed + $(grep -cE '^ +--- PASS' "$log"))) failed=$((failed + $(grep -cE '^ +--- FAIL' "$log")))
[ "$passed" -gt 0 ] || bad "no test ran"
