#!/usr/bin/env bash
# The test suites of other people's clients, as they come with their modules, against samsa serve.
#
#   scripts/conformance.sh [suite]…     kgo chaos kfake kafka-go sarama; all of them if none is named
#
#     kgo        franz-go's integration tests: groups of both protocols, share groups, transactions, exactly-once chains
#     chaos      the same with connections that die after 0.5 to 1.5 s
#     kfake      the tests that come with franz-go's stand-in for a broker, many of them ported from Apache Kafka's
#     kafka-go   segmentio's tests; they need localhost:9092 to be free
#     sarama     IBM's functional tests behind toxiproxy; they need localhost:29091 to 29095 and 8474 to be free
#
# Needs Go, and the Go module proxy or a filled module cache. Prints "SUITE: N passed, M failed, K skipped" for
# each. Tests that are known to fail stand in conformance/explained/SUITE, each with its reason; any other failure
# makes the exit status 1, and so does a suite that does not come to its end. Details in build/conformance/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
. "$here/conformance/lib.sh"

suites=("$@")
[ ${#suites[@]} -eq 0 ] && suites=(kgo chaos kfake kafka-go sarama)
for suite in "${suites[@]}"; do
  [ -f "$here/conformance/$suite.sh" ] || { echo "conformance: there is no suite $suite" >&2; exit 2; }
done
trap stop_all EXIT
(cd "$root" && go build -trimpath -o "$samsa" ./cmd/samsa) || exit 1
for suite in "${suites[@]}"; do
  begin
  . "$here/conformance/$suite.sh"
  judge
  stop_all
done
exit $status
