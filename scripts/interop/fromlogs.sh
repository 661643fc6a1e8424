# samsa adopt makes single nodes of what none was, and Apache Kafka 4.4.0 opens them without an error: --from-logs a directory of ZooKeeper's
# time, and two of which the second was not finished, --solo a member of a cluster of three.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: it has no such directories"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
rm -rf "$out/fromlogs"; mkdir -p "$out/fromlogs/zookeeper" "$out/fromlogs/voter"
zstd -q -d -c "$root/internal/adopt/fromlogs/testdata/zookeeper.tar.zst" | tar -xf - -C "$out/fromlogs/zookeeper"
zstd -q -d -c "$root/internal/adopt/solo/testdata/voter.tar.zst" | tar -xf - -C "$out/fromlogs/voter"
# adopted NAME NODE [SECOND]: Kafka opens the directory, or two.
adopted() {
  port=$(free_port) kafka_settings=node.id=$2${3:+$'\n'log.dirs=$out/fromlogs/$1,$out/fromlogs/$3}
  rm -f "$out/kafka-$port/kafka.log"
  start_kafka "$out/fromlogs/$1" "$port" || { bad "Apache Kafka opens $1"; return 1; }
  B="--bootstrap-server 127.0.0.1:$port"
}
# done_with NAME: it stops, and has logged no error; that a loaded machine was slow is none.
done_with() {
  stop_process "$kafka_pid"; kafka_settings=
  if grep -E ' (ERROR|FATAL) ' "$out/kafka-$port/kafka.log" | grep -vE 'Exceptionally slow|handling request RequestHeader\(apiKey=CONTROLLER_REGISTRATION' >>"$log"; then bad "Kafka logged no error on $1"; else ok "Kafka logged no error on $1"; fi
}

before=$(cd "$out/fromlogs" && find . -type f | sort | xargs sha256sum)
expect "--from-logs plans" "compacted .*cleanup.policy=compact" "$samsa" adopt "$out/fromlogs/zookeeper" --from-logs
expect "--solo plans" "^two-1 +whole" "$samsa" adopt "$out/fromlogs/voter" --solo
if [ "$before" = "$(cd "$out/fromlogs" && find . -type f | sort | xargs sha256sum)" ]; then ok "a plan changes nothing"; else bad "a plan changes nothing"; fi

check "--from-logs --yes" "$samsa" adopt "$out/fromlogs/zookeeper" --from-logs --yes
if adopted zookeeper 0; then
  expect "the old records are there" "Processed a total of 300 messages" java_tool consumer.ConsoleConsumer $B --topic old-0.9.0-gzip --from-beginning --max-messages 300 --timeout-ms 20000
  expect "the groups are there" "golden-admin" "$samsa" groups list --bootstrap "127.0.0.1:$port"
  done_with zookeeper
fi
# What a crash between two meta.properties leaves.
mkdir -p "$out/fromlogs/first" "$out/fromlogs/second"
zstd -q -d -c "$root/internal/adopt/fromlogs/testdata/zookeeper.tar.zst" | tar -xf - -C "$out/fromlogs/first"
cp "$out/fromlogs/first/meta.properties" "$out/fromlogs/second" && mv "$out/fromlogs/first/old-0.9.0-gzip-0" "$out/fromlogs/second"
check "--from-logs --yes, two directories" "$samsa" adopt "$out/fromlogs/first" "$out/fromlogs/second" --from-logs --yes
sed -i -e 's/^node.id/broker.id/' -e 's/^version=1/version=0/' "$out/fromlogs/second/meta.properties"
if adopted first 0 second; then
  expect "the records of an unfinished directory are there" "Processed a total of 300 messages" java_tool consumer.ConsoleConsumer $B --topic old-0.9.0-gzip --from-beginning --max-messages 300 --timeout-ms 20000
  done_with first
fi
if start_samsa "$out/fromlogs/first" "" --dir "$out/fromlogs/first" --dir "$out/fromlogs/second" --listen 127.0.0.1:0; then
  expect "Samsa finishes it" "version=1" cat "$out/fromlogs/second/meta.properties"
  stop_process "$broker_pid"
else bad "Samsa serves two directories, one unfinished"; fi

check "--solo --yes" "$samsa" adopt "$out/fromlogs/voter" --solo --yes
if adopted voter 2; then
  # An election follows the start.
  for _ in $(seq 50); do "$samsa" consume three --from start --to end --bootstrap "127.0.0.1:$port" >"$out/fromlogs/three" 2>>"$log" && break; sleep 0.2; done
  if [ "$(wc -l <"$out/fromlogs/three")" = 300 ]; then ok "the records are there"; else bad "the records are there"; fi
  expect "the groups are there" "g1" "$samsa" groups list --bootstrap "127.0.0.1:$port"
  done_with voter
fi
for name in zookeeper voter; do
  start_samsa "$out/fromlogs/$name" 127.0.0.1:0 || { bad "Samsa serves $name"; continue; }
  expect "Samsa serves $name" "one|first" "$samsa" topics list --bootstrap "$broker_addr"
  stop_process "$broker_pid"
done
