#!/usr/bin/env bash
# Other people's clients and tools against Samsa.
#
#   scripts/interop.sh [part]…     install tools admin matrix go dump repair takeover swap adopt readonly fromlogs kill rolling connect distributed streams streams-groups share; all of them if none is named
#
#     install         bring what the other parts need (Debian, Maven, npm); says what it does
#     tools           Apache Kafka's own command line tools
#     admin           the same for features, transactions, groups of both protocols, quotas, reassignments
#     matrix          write with one client, read with another: bytes are compared
#     go              the Go tests of interop/ (sarama, kafka-go, librdkafka, franz-go)
#     dump            Kafka's dump tool and samsa dump over the same files
#     repair          damaged directories, repaired: Apache Kafka starts on them and serves what is left
#     takeover        Apache Kafka starts on a directory of Samsa's, and hands it back
#     adopt           what samsa adopt says of a killed Apache Kafka's directory; savepoint and rollback
#     readonly        samsa serve --read-only over a directory of ZooKeeper's time, to Java clients
#     fromlogs        Apache Kafka opens what samsa adopt --from-logs and --solo have made
#     swap            Apache Kafka 4.4.0, 4.0.0, 3.9.1 and Samsa take turns over one directory under living clients
#     kill            kill -9 under load: nothing acknowledged is missing
#     rolling         members of groups, dynamic and static, of both protocols, come and go: nothing lost, little read again
#     connect         a Connect worker with a source and a sink, stopped and killed
#     distributed     a distributed Connect worker, killed and replaced
#     streams         Kafka Streams counts exactly once while it and the broker are killed
#     streams-groups  kafka-streams-groups, all that it can do
#     share           share groups: Kafka's share consumers and kafka-share-groups; members that are killed; dead letters
#
# BROKER=host:port tests another broker instead; parts that need Samsa's own directory are left out then.
# Needs Go, a JDK 17 or later, Maven, Node 20 or later, and apt-get as root (or what it would install).
# Prints "PART: N passed, M failed" for each part and for all; details in build/interop/ and its lane1/ and lane2/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
. "$here/interop/lib.sh"

# Most parts wait most of the time, for JVMs and for sessions to run out: all of them run in two lanes side by side, each
# with files of its own, after what both need is there.
first=(install tools)
lane1=(admin matrix go dump takeover swap kill)
lane2=(repair adopt readonly fromlogs rolling connect distributed streams streams-groups share)

parts=("$@")
trap stop_all EXIT
if [ ${#parts[@]} -eq 0 ]; then
  if [ -n "$given_broker" ]; then parts=("${first[@]}" "${lane1[@]}" "${lane2[@]}"); else run_lanes; exit; fi
fi

for part in "${parts[@]}"; do
  [ -f "$here/interop/$part.sh" ] || { echo "interop: there is no part $part" >&2; exit 2; }
done
for part in "${parts[@]}"; do
  begin "$part"
  . "$here/interop/$part.sh"
  end
done
total
