# Apache Kafka is killed in the middle of its work. What adopt says of the directory is what Kafka's own tools have said; then a savepoint is
# made, Samsa and Kafka work on the directory, the rollback gives every byte back, and Kafka starts on it without an error.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: its directory cannot be adopted"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
adopt_dir=$out/adopt/data said=$out/adopt/said
rm -rf "$out/adopt"; mkdir -p "$said"

# state FILE: name, mode, size and content of everything in the directory. Lock files are empty.
state() { (cd "$adopt_dir" && find . -type f -printf '%P %m %s\n' | sort && find . -type f | sort | xargs sha256sum && find . -type d | sort) >"$1"; }
# kafka_start: Kafka serves the directory; its log begins anew.
kafka_start() { rm -f "$out/kafka-$port/kafka.log"; start_kafka "$adopt_dir" "$port"; }
# no_errors NAME: Kafka's log has none, but for its complaints about a slow machine.
# That a busy machine was slow is no error, nor that a controller registers while it is elected, as Kafka does on a directory of its own.
no_errors() { if grep -E ' (ERROR|FATAL) ' "$out/kafka-$port/kafka.log" | grep -vE 'EventPerformanceMonitor|handling request RequestHeader\(apiKey=CONTROLLER_REGISTRATION' >>"$log"; then bad "$1"; else ok "$1"; fi; }

port=$(free_port); addr=127.0.0.1:$port B="--bootstrap-server 127.0.0.1:$port"
kafka_start || { bad "Apache Kafka did not start"; return 0; }
"$samsa" topics create orders --partitions 3 --bootstrap "$addr" --config segment.bytes=1048576 --config retention.ms=-1 >>"$log" 2>&1
"$samsa" topics create compacted --bootstrap "$addr" --config cleanup.policy=compact --config segment.bytes=1048576 --config min.cleanable.dirty.ratio=0.01 >>"$log" 2>&1
"$samsa" topics create busy gone --bootstrap "$addr" >>"$log" 2>&1
seq 1 20000 | sed 's/.*/key&:order & of somebody who waits for it/' | "$samsa" produce orders --bootstrap "$addr" --key-separator : --quiet
seq 1 20000 | sed 's/\(.\)$/\1:value & \1/' | "$samsa" produce compacted --bootstrap "$addr" --key-separator : --quiet
"$samsa" consume orders --bootstrap "$addr" --group classic-group --count 500 >/dev/null 2>>"$log"
java_tool consumer.ConsoleConsumer $B --topic orders --group new-group --command-property group.protocol=consumer --from-beginning --max-messages 100 --timeout-ms 20000 >/dev/null 2>>"$log"
java_tool ProducerPerformance --topic gone --num-records 1000000 --record-size 10 --throughput 20 $B --transactional-id open --transaction-duration-ms 600000 --command-property transaction.timeout.ms=600000 >>"$log" 2>&1 & open=$!
java_tool ProducerPerformance --topic busy --num-records 50 --record-size 10 --throughput -1 $B --transactional-id ended --transaction-duration-ms 50 >>"$log" 2>&1

for i in $(seq 200); do [ "$(stat -c %s "$adopt_dir"/gone-0/*.log)" -gt 0 ] && break; sleep 0.1; done
end_java "$open" KILL

tools=()
say() { local file=$1; shift; java_tool "$@" >"$said/$file" 2>>"$log" & tools+=($!); }
say topics TopicCommand $B --describe
say features FeatureCommand $B describe
say groups consumer.group.ConsumerGroupCommand $B --describe --all-groups --offsets
say transactions TransactionsCommand $B list
say quorum MetadataQuorumCommand $B describe --status
say ends GetOffsetShell $B --exclude-internal-topics
wait "${tools[@]}"
"$samsa" bench produce --topic busy --bootstrap "$addr" --num-records 100000000 --record-size 100 --throughput -1 >>"$log" 2>&1 & bench=$!
for i in $(seq 50); do sleep 0.1; [ "$(stat -c %s "$adopt_dir"/busy-0/*.log | sort -n | tail -n 1)" -gt 5000000 ] && break; done
stop_process "$kafka_pid" KILL; stop_process "$bench" KILL

state "$said/killed"
"$samsa" adopt "$adopt_dir" --json >"$said/report.json" 2>>"$log"
"$samsa" adopt "$adopt_dir" >>"$log" 2>&1
state "$said/looked"
same "adopt changes nothing" "$said/killed" "$said/looked"
check "adopt says what Kafka's tools say" python3 "$here/interop/adopt.py" "$said"

check "adopt --save" "$samsa" adopt "$adopt_dir" --save "$out/adopt/savepoint"
start_samsa "$adopt_dir" 127.0.0.1:0 --set log.retention.check.interval.ms=100 --set log.cleaner.backoff.ms=100 --set log.initial.task.delay.ms=1 || { bad "Samsa takes the directory"; return 0; }
seq 1 5000 | "$samsa" produce orders --bootstrap "$broker_addr" --quiet
"$samsa" topics create made --bootstrap "$broker_addr" >>"$log" 2>&1
seq 1 100 | "$samsa" produce made --bootstrap "$broker_addr" --quiet
"$samsa" topics delete gone --bootstrap "$broker_addr" >>"$log" 2>&1
"$samsa" topics alter busy --config retention.bytes=1000 --bootstrap "$broker_addr" >>"$log" 2>&1
expect "a broker that runs is told" "is in use" "$samsa" adopt --rollback "$out/adopt/savepoint"
if "$samsa" adopt --rollback "$out/adopt/savepoint" --yes >>"$log" 2>&1; then bad "a rollback under a broker is refused"; else ok "a rollback under a broker is refused"; fi
if stop_process "$broker_pid"; then ok "Samsa stops"; else bad "Samsa stops"; fi
kafka_start || { bad "Apache Kafka takes the directory back"; return 0; }
seq 1 3000 | sed 's/.*/&:again/' | "$samsa" produce compacted --bootstrap "$addr" --key-separator : --quiet
seq 1 3000 | "$samsa" produce orders --bootstrap "$addr" --quiet
stop_process "$kafka_pid" KILL
no_errors "Kafka logged no error after Samsa"

expect "what is given up is told" "^orders-[0-2]: offsets [0-9]+ to [0-9]+ are given up" "$samsa" adopt --rollback "$out/adopt/savepoint"
expect "what comes back is told" "^gone-0: was deleted and comes back" "$samsa" adopt --rollback "$out/adopt/savepoint"
check "adopt --rollback --yes" "$samsa" adopt --rollback "$out/adopt/savepoint" --yes
state "$said/back"
same "every byte is back" "$said/killed" "$said/back"
kafka_start || { bad "Apache Kafka starts after the rollback"; return 0; }
java_tool GetOffsetShell $B --exclude-internal-topics >"$said/ends-back" 2>>"$log"
for f in ends ends-back; do grep -E '^(orders|compacted):' "$said/$f" | sort >"$said/$f-quiet"; done
same "the ends of the logs are back" "$said/ends-quiet" "$said/ends-back-quiet"
stop_process "$kafka_pid"
no_errors "Kafka logged no error after the rollback"
check "verify finds nothing wrong" "$samsa" verify "$adopt_dir"
