# Share groups as Kafka's own clients and tools use them: the share consumer with both ways of acknowledging, the console and
# the verifiable share consumer, the perf tool, kafka-share-groups; members that are killed while they hold records; and
# Kafka's tools reading the records that share groups leave.

build_samsa && need_broker || { bad "the broker did not start"; return 0; }
java_classes || { bad "interop/kafka/java does not compile"; return 0; }
B="--bootstrap-server $broker" s=share-$run_id
rm -rf "$out/share"; mkdir -p "$out/share"
share_groups() { java_tool consumer.group.ShareGroupCommand $B "$@"; }
# new_group NAME: a group that begins at the start of topics.
new_group() { java_tool ConfigCommand $B --alter --entity-type groups --entity-name "$1" --add-config share.auto.offset.reset=earliest >>"$log" 2>&1; }
# behind GROUP prints what a group has not done, over all partitions.
behind() { "$samsa" groups describe "$1" --bootstrap "$broker" 2>>"$log" | awk '$1 == "lag" { print $2 }'; }
# lag NAME GROUP WANT
lag() { local got; got=$(behind "$2"); if [ "$got" = "$3" ]; then ok "$1"; else bad "$1: $got records are not done, want $3"; fi; }

java_tool TopicCommand $B --create --topic "$s" --partitions 2 --replication-factor 1 >>"$log" 2>&1
seq 1 1000 >"$out/share/in"
java_tool ConsoleProducer $B --topic "$s" <"$out/share/in" >>"$log" 2>&1
for g in console worker explicit verifiable perf; do new_group "$s-$g" & done; wait $(jobs -p | tail -n 5)

java_tool consumer.ConsoleShareConsumer $B --topic "$s" --group "$s-console" --max-messages 1000 --timeout-ms 30000 2>>"$log" | sort -n >"$out/share/console"
same "kafka-console-share-consumer" "$out/share/in" "$out/share/console"
lag "what it took is done" "$s-console" 0

expect "kafka-share-groups --list" "^$s-console\$" share_groups --list
expect "kafka-share-groups --list --state" "^$s-console +Empty" share_groups --list --state Empty
expect "kafka-share-groups --describe --state" "^$s-console .* Empty +0\$" share_groups --describe --group "$s-console" --state
expect "kafka-share-groups --describe --verbose" "^$s-console +$s +[01] +[0-9]+ +[0-9]+ +0\$" share_groups --describe --group "$s-console" --offsets --verbose
expect "samsa groups describe" "^type +share" "$samsa" groups describe "$s-console" --bootstrap "$broker"

expect "share consumer, implicit" "^{failed=0, taken=1000}\$" java_class ShareWorker "$broker" "$s-worker" "$s" implicit 1000
lag "all of it is done" "$s-worker" 0
# A quarter each is accepted, released and accepted when it comes again, rejected, renewed and accepted.
expect "share consumer, explicit" "^{accept=750, failed=0, reject=250, release=250, renew=250}\$" java_class ShareWorker "$broker" "$s-explicit" "$s" explicit 1000
lag "all of it is decided" "$s-explicit" 0

java_tool VerifiableShareConsumer $B --topic "$s" --group-id "$s-verifiable" --max-messages 1000 --acknowledgement-mode sync >"$out/share/verifiable" 2>>"$log"
cat "$out/share/verifiable" >>"$log"
acknowledged=$(grep '"name":"offsets_acknowledged"' "$out/share/verifiable" | grep -c '"success":true')
consumed=$(grep -oE '"name":"records_consumed","count":[0-9]+' "$out/share/verifiable" | awk -F: '{ n += $3 } END { print n + 0 }')
if [ "$consumed" -ge 1000 ] && [ "$acknowledged" -gt 0 ]; then ok "kafka-verifiable-share-consumer"; else bad "kafka-verifiable-share-consumer: $consumed of 1000 records, $acknowledged acknowledgements"; fi
expect "kafka-share-consumer-perf-test" ", 1000, " java_tool ShareConsumerPerformance $B --topic "$s" --group "$s-perf" --num-records 1000 --threads 2 --timeout 30000

# Records that are given up come into a dead-letter queue. interop/kafka/letters.txt is what came into that of an Apache Kafka 4.4.0
# that this part was run against (BROKER=HOST:PORT scripts/interop.sh share leaves it in build/interop/share/letters).
q=dlq.$s
java_tool TopicCommand $B --create --topic "$q" --partitions 1 --replication-factor 1 --config errors.deadletterqueue.group.enable=true >>"$log" 2>&1
java_tool TopicCommand $B --create --topic "$s-given-up" --partitions 1 --replication-factor 1 >>"$log" 2>&1
seq 1 20 | sed 's/.*/key-&:&/' | java_tool ConsoleProducer $B --topic "$s-given-up" --reader-property parse.key=true --reader-property key.separator=: >>"$log" 2>&1
new_group "$s-letters"
java_tool ConfigCommand $B --alter --entity-type groups --entity-name "$s-letters" --add-config "errors.deadletterqueue.topic.name=$q,errors.deadletterqueue.copy.record.enable=true,share.delivery.count.limit=2" >>"$log" 2>&1
expect "records that are given up" "^{failed=0, reject=10, release=20}\$" java_class ShareWorker "$broker" "$s-letters" "$s-given-up" refuse 20
lag "all of them are decided" "$s-letters" 0
java_tool consumer.ConsoleConsumer $B --topic "$q" --from-beginning --max-messages 20 --timeout-ms 20000 --formatter-property print.key=true \
  --formatter-property print.partition=true --formatter-property print.headers=true 2>>"$log" | sed "s/$s/S/g" | sort >"$out/share/letters"
same "dead letters" "$root/interop/kafka/letters.txt" "$out/share/letters"

# A member is killed while it holds records: they come to another one, counted.
new_group "$s-killed"
step_timeout=120 java_class ShareWorker "$broker" "$s-killed" "$s" hold 100 >"$out/share/held" 2>>"$log" &
holder=$!; pids+=("$holder")
for i in $(seq 300); do grep -q holding "$out/share/held" && break; sleep 0.1; done
expect "kafka-share-groups --describe --members" "^$s-killed +[^ ]+ +/127.0.0.1 +" share_groups --describe --group "$s-killed" --members
expect "a group with members is not deleted" "not empty|NonEmptyGroup|GroupNotEmpty" share_groups --delete --group "$s-killed"
end_java "$holder" KILL
expect "records of a killed member" "^{failed=0, taken=1000}\$" java_class ShareWorker "$broker" "$s-killed" "$s" implicit 1000

g=$s-worker
expect "kafka-share-groups --reset-offsets --to-earliest --dry-run" "^$g +$s +1 +0" share_groups --reset-offsets --group "$g" --topic "$s" --to-earliest --dry-run
lag "a dry run does nothing" "$g" 0
expect "kafka-share-groups --reset-offsets --to-earliest" "^$g +$s +0 +0" share_groups --reset-offsets --group "$g" --all-topics --to-earliest --execute
lag "a group that begins anew" "$g" 1000
check "kafka-share-groups --reset-offsets --to-latest" share_groups --reset-offsets --group "$g" --all-topics --to-latest --execute
lag "a group at the end" "$g" 0
check "kafka-share-groups --reset-offsets --to-datetime" share_groups --reset-offsets --group "$g" --topic "$s" --to-datetime 2020-01-01T00:00:00.000 --execute
lag "a group that begins in 2020" "$g" 1000
expect "its records come again" "^{failed=0, taken=1000}\$" java_class ShareWorker "$broker" "$g" "$s" implicit 1000
expect "kafka-share-groups --delete-offsets" "^$s +Successful" share_groups --delete-offsets --group "$g" --topic "$s"
expect "kafka-share-groups --delete" "successful" share_groups --delete --group "$g"

expect "Kafka reads share state" "$s-" java_tool consumer.ConsoleConsumer $B --topic __share_group_state --from-beginning --max-messages 3 --timeout-ms 20000 --formatter org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter
expect "Kafka reads share groups" "$s-explicit" java_tool consumer.ConsoleConsumer $B --topic __consumer_offsets --from-beginning --timeout-ms 10000 --formatter org.apache.kafka.tools.consumer.ShareGroupMessageFormatter

if [ -z "$given_broker" ]; then
  mkdir -p "$out/dump"
  written() { comma $(find "$out/data"/"$1"-*/ -name '*.log' -size +0 | sort); }
  dump_both share-state "$(written __share_group_state)" --share-group-state-decoder
  dump_both share-groups "$(written __consumer_offsets)" --offsets-decoder
  if grep -q '"type":"15".*'"$s" "$out/dump/share-groups.kafka"; then ok "Kafka's dump tool reads share groups"; else bad "Kafka's dump tool reads share groups"; fi
fi
