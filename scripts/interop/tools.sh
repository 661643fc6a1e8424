# Apache Kafka's own command line tools.

need_broker || { bad "the broker did not start"; return 0; }
t=tools-$run_id g=group-$run_id B="--bootstrap-server $broker"

expect "kafka-topics --create" "Created topic $t" java_tool TopicCommand $B --create --topic "$t" --partitions 3 --replication-factor 1 --config retention.ms=86400000
expect "kafka-topics --create again" "already exists" java_tool TopicCommand $B --create --topic "$t" --partitions 3 --replication-factor 1
expect "kafka-topics --list" "^$t\$" java_tool TopicCommand $B --list
expect "kafka-topics --describe" "PartitionCount: 3.*retention.ms=86400000" java_tool TopicCommand $B --describe --topic "$t"
check "kafka-topics --alter" java_tool TopicCommand $B --alter --topic "$t" --partitions 4

expect "kafka-configs --alter" "Completed updating config" java_tool ConfigCommand $B --alter --entity-type topics --entity-name "$t" --add-config segment.bytes=1048576,cleanup.policy=[compact,delete]
expect "kafka-configs --describe" "cleanup.policy=compact,delete.*DYNAMIC_TOPIC_CONFIG" java_tool ConfigCommand $B --describe --entity-type topics --entity-name "$t"
expect "kafka-configs --describe broker" "log.retention.hours=168" java_tool ConfigCommand $B --describe --all --entity-type brokers --entity-name 1
expect "kafka-configs --delete-config" "Completed updating config" java_tool ConfigCommand $B --alter --entity-type topics --entity-name "$t" --delete-config cleanup.policy

seq 1 1000 | sed 's/.*/key&:value&/' >"$out/tools.in"
console_produce() { java_tool ConsoleProducer $B --topic "$t" --reader-property parse.key=true --reader-property key.separator=: <"$out/tools.in"; }
check "kafka-console-producer" console_produce
java_tool consumer.ConsoleConsumer $B --topic "$t" --from-beginning --max-messages 1000 --timeout-ms 20000 --group "$g" \
  --formatter-property print.key=true --formatter-property key.separator=: >"$out/tools.got" 2>>"$log"
sort "$out/tools.in" >"$out/tools.want"; sort -o "$out/tools.got" "$out/tools.got"
same "kafka-console-consumer" "$out/tools.want" "$out/tools.got"

expect "kafka-consumer-groups --list" "^$g\$" java_tool consumer.group.ConsumerGroupCommand $B --list
java_tool consumer.group.ConsumerGroupCommand $B --describe --group "$g" >"$out/tools.group" 2>&1
cat "$out/tools.group" >>"$log"
lag=$(awk -v t="$t" '$2 == t { committed += $4; lag += $6; n++ } END { print n, committed, lag }' "$out/tools.group")
if [ "$lag" = "4 1000 0" ]; then ok "kafka-consumer-groups --describe"; else bad "kafka-consumer-groups --describe: partitions, committed, lag are $lag"; fi
expect "kafka-consumer-groups --reset-offsets" "$t +[0-3] +0" java_tool consumer.group.ConsumerGroupCommand $B --group "$g" --topic "$t" --reset-offsets --to-earliest --execute
expect "kafka-consumer-groups --delete" "was successful" java_tool consumer.group.ConsumerGroupCommand $B --delete --group "$g"

java_tool GetOffsetShell $B --topic "$t" >"$out/tools.offsets" 2>>"$log"
if [ "$(awk -F: '{ n += $3 } END { print NR, n }' "$out/tools.offsets")" = "4 1000" ]; then ok "kafka-get-offsets"; else bad "kafka-get-offsets"; fi
expect "kafka-get-offsets --time earliest" "^$t:0:0\$" java_tool GetOffsetShell $B --topic "$t" --time -2

expect "kafka-producer-perf-test" "^20000 records sent.*99.9th" java_tool ProducerPerformance --topic "$t" --num-records 20000 --record-size 200 --throughput -1 $B --command-property acks=all
v=verifiable-$run_id
java_tool TopicCommand $B --create --topic "$v" --partitions 2 --replication-factor 1 >>"$log" 2>&1
expect "kafka-verifiable-producer" '"acked":2000' java_tool VerifiableProducer $B --topic "$v" --max-messages 2000 --acks -1
java_tool VerifiableConsumer $B --topic "$v" --group-id "$v" --max-messages 2000 --reset-policy earliest >"$out/tools.verifiable" 2>>"$log"
cat "$out/tools.verifiable" >>"$log"
consumed=$(grep -o '"name":"records_consumed","count":[0-9]*' "$out/tools.verifiable" | awk -F: '{ n += $3 } END { print n + 0 }')
if [ "$consumed" = 2000 ] && grep -q '"name":"offsets_committed".*"success":true' "$out/tools.verifiable"; then ok "kafka-verifiable-consumer"; else bad "kafka-verifiable-consumer: $consumed of 2000 records"; fi
expect "kafka-topics --delete" "^\$" java_tool TopicCommand $B --delete --topic "$t"
