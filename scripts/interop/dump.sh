# Kafka's dump tool finds nothing wrong in what Samsa wrote, and both dump tools print the same.
#
# Segments of all codecs and of several shapes, rolled many times, with sparse indexes; then the directory is
# dumped after a clean stop.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: its directory cannot be dumped"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
dumped=$out/dumped
rm -rf "$dumped" "$out/dump"; mkdir -p "$out/dump"
start_samsa "$dumped" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 --set log.initial.task.delay.ms=100 || { bad "the broker did not start"; return 0; }
dump_pid=$broker_pid dump_addr=$broker_addr

for codec in none gzip snappy lz4 zstd; do
  "$samsa" topics create "rolled-$codec" --bootstrap "$dump_addr" --config segment.bytes=1048576 --config index.interval.bytes=512 >>"$log" 2>&1
  check "write rolled-$codec" "$samsa" bench produce --bootstrap "$dump_addr" --topic "rolled-$codec" --num-records 30000 --record-size 150 \
    --command-property "compression.type=$codec" batch.size=8192 linger.ms=2
done
"$samsa" topics create stamped --bootstrap "$dump_addr" --config message.timestamp.type=LogAppendTime >>"$log" 2>&1
seq 1 2000 | "$samsa" produce stamped --bootstrap "$dump_addr" --compression lz4 >>"$log" 2>&1
"$samsa" topics create shapes --partitions 2 --config retention.ms=-1 --bootstrap "$dump_addr" >>"$log" 2>&1
printf '%s\n' '{"key":null,"value":null}' '{"key":"","value":""}' '{"key":"k","value":null,"headers":[{"key":"h","value":null},{"key":"h","value":"x"}]}' \
  '{"keyBase64":"//4A","valueBase64":"AAECAw==","timestamp":1700000000000}' '{"key":"k","value":"old","timestamp":1600000000000}' |
  "$samsa" produce shapes --bootstrap "$dump_addr" --input json --acks 1 >>"$log" 2>&1
"$samsa" consume stamped --bootstrap "$dump_addr" --group dumped --count 1000 >>"$log" 2>&1
java_tool consumer.ConsoleConsumer --bootstrap-server "$dump_addr" --topic stamped --group dumped-next --command-property group.protocol=consumer --from-beginning --max-messages 1000 --timeout-ms 20000 >>"$log" 2>&1
if java_classes; then
  for t in in out; do "$samsa" topics create "words-$t" --bootstrap "$dump_addr" >>"$log" 2>&1; done
  seq 1 20 | "$samsa" produce words-in --bootstrap "$dump_addr" >>"$log" 2>&1
  step_timeout=240 java_class WordCount "$dump_addr" dumped-streams streams "$out/dumped-state" words-in words-out >>"$log" 2>&1 & app=$!; pids+=("$app")
  timeout 200 "$samsa" consume words-out --bootstrap "$dump_addr" --read-committed --count 20 >>"$log" 2>&1
  end_java "$app" TERM
else
  bad "interop/kafka/java does not compile"
fi
java_tool ProducerPerformance --bootstrap-server "$dump_addr" --topic shapes --num-records 20 --record-size 10 --throughput -1 --transactional-id dumped --transaction-duration-ms 100 >>"$log" 2>&1
if stop_process "$dump_pid"; then ok "clean stop"; else bad "clean stop"; fi

segments=$(find "$dumped"/rolled-*-0 -name '*.log' | wc -l)
if [ "$segments" -ge 12 ]; then ok "$segments segments"; else bad "only $segments segments were rolled"; fi
dump_both segments "$(comma $(ls "$dumped"/{rolled-*,stamped-*,shapes-*}/*.log))" --deep-iteration
dump_both contents "$(comma "$dumped"/shapes-*/*.log "$dumped"/stamped-0/*.log)" --print-data-log
dump_both indexes "$(comma $(ls "$dumped"/rolled-*/*index))"
dump_both sanity "$(comma $(ls "$dumped"/{rolled-*,stamped-*,shapes-*}/*index))" --index-sanity-check
dump_both offsets-topic "$(comma "$dumped"/__consumer_offsets-*/*.log)" --offsets-decoder
dump_both transactions-topic "$(comma $(find "$dumped"/__transaction_state-*/ -name '*.log' -size +0 | sort))" --transaction-log-decoder
if grep -q 'dumped' "$out/dump/transactions-topic.kafka"; then ok "Kafka's tool reads the transaction log"; else bad "Kafka's tool reads the transaction log"; fi
if grep -q 'dumped-next' "$out/dump/offsets-topic.kafka"; then ok "Kafka's tool reads groups of the consumer protocol"; else bad "Kafka's tool reads groups of the consumer protocol"; fi
if grep -q 'dumped-streams' "$out/dump/offsets-topic.kafka"; then ok "Kafka's tool reads groups of the streams protocol"; else bad "Kafka's tool reads groups of the streams protocol"; fi
dump_both metadata "$(comma "$dumped"/__cluster_metadata-0/*.log "$dumped"/__cluster_metadata-0/*.checkpoint)" --cluster-metadata-decoder
dump_both snapshots "$(comma $(find "$dumped" -name '*.snapshot' | sort))"
# What Kafka's tool says about them: every batch is valid, every index in order. Segments after the first
# are reported as beginning with a gap, always.
if grep -q 'isvalid: false' "$out/dump/segments.kafka"; then bad "Kafka's tool finds invalid batches"; else ok "Kafka's tool finds every batch valid"; fi
findings=$(cat "$out"/dump/{segments,indexes,sanity}.kafka.err | grep -vE '^Non-consecutive offsets|^ +-1 is followed by' | head -n 5)
if [ -z "$findings" ]; then ok "Kafka's tool finds nothing wrong"; else echo "$findings" >>"$log"; bad "Kafka's tool finds something wrong"; fi
passed_sanity=$(grep -cE 'passed sanity check|is empty' "$out/dump/sanity.kafka") all_indexes=$(ls "$dumped"/{rolled-*,stamped-*,shapes-*}/*index | wc -l)
if [ "$passed_sanity" = "$all_indexes" ]; then ok "$passed_sanity indexes are sane"; else bad "$passed_sanity of $all_indexes indexes are sane"; fi
