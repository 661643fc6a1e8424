# The tests of franz-go's kfake: those ported from Apache Kafka's client integration tests, and those of the behaviour of
# brokers. interop/kfake stands in for the broker that they are written for; what it cannot do is left out.

version=v0.0.0-20260918054303-01f206a7e32c
from=$(cd "$root/interop" && go mod download -json github.com/twmb/franz-go/pkg/kfake@$version 2>>"$dir/setup" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
[ -n "$from" ] || return 0
rm -rf "$src" && mkdir -p "$src/kafka_tests" && cp "$from"/{go.mod,go.sum,behavior_test.go,helpers_test.go} "$src" && cp "$from"/kafka_tests/*.go "$src/kafka_tests" && chmod -R u+w "$src" || return 0
cp "$root"/interop/kfake/*.go "$src" && cat "$root/interop/go.sum" >>"$src/go.sum" || return 0
# They are written for franz-go as it was at the same time, which is the one that interop/ tests with.
for m in github.com/twmb/franz-go github.com/twmb/franz-go/pkg/{kadm,kmsg}; do
  (cd "$src" && go mod edit -require="$m@$(cd "$root/interop" && go list -m -f '{{.Version}}' "$m")") || return 0
done
(cd "$src" && go mod tidy) >>"$dir/setup" 2>&1 || return 0
(cd "$root/interop" && go run ./prune "$src" . ./kafka_tests) >"$dir/left-out" 2>>"$dir/setup" || return 0
echo "  kfake: $(wc -l <"$dir/left-out") tests want what a broker does not offer, and are left out"
for package in . kafka_tests; do
  (cd "$src" && go test -c -vet=off -o "$dir/kfake-$(basename "$(realpath "$package")").test" "./$package") >>"$dir/setup" 2>&1 || return 0
done
for binary in "$dir"/kfake-*.test; do
  finished=
  run "$src" env SAMSA="$samsa" SAMSA_TEST_LOG="$dir/broker.log" "$binary" -test.timeout 10m -test.parallel 2 -test.v
  [ -n "$finished" ] || return 0
done
