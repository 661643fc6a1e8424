# Apache Kafka's tool for groups of the streams protocol, over an application that runs, and when it has ended.

need_broker || { bad "the broker did not start"; return 0; }
java_classes || { bad "interop/kafka/java does not compile"; return 0; }
B="--bootstrap-server $broker"
s=streams-$run_id
for topic in "$s-in" "$s-out"; do java_tool TopicCommand $B --create --topic "$topic" --partitions 1 --replication-factor 1 >>"$log" 2>&1; done
seq 1 100 | java_tool ConsoleProducer $B --topic "$s-in" >>"$log" 2>&1
streams() { java_tool streams.StreamsGroupCommand $B "$@"; }
step_timeout=900 java_class WordCount "$broker" "$s" streams "$out/streams-groups.state" "$s-in" "$s-out" >"$out/streams-groups.app" 2>&1 & app=$!; pids+=("$app")
for i in $(seq 240); do grep -q 'RUNNING' "$out/streams-groups.app" && break; kill -0 "$app" 2>/dev/null || break; sleep 0.5; done
for i in $(seq 20); do streams --describe --group "$s" --offsets 2>>"$log" | grep -qE "$s-in +0 +[0-9]+" && break; done
expect "--list" "^$s\$" streams --list
expect "--list --state" "^$s\s+Stable" streams --list --state
expect "--list --state of one" "^$s\s+Stable" streams --list --state Stable
expect "kafka-groups --list, streams" "^$s\s+Streams" java_tool GroupsCommand $B --list
expect "--describe --offsets" "^$s\s+$s-in\s+0\s+" streams --describe --group "$s" --offsets --verbose
expect "--describe --members" "^$s\s.*ACTIVE" streams --describe --group "$s" --members --verbose
expect "--describe --state" "^$s\s.*Stable" streams --describe --group "$s" --state --verbose
expect "--describe --all-groups" "^$s\s" streams --describe --all-groups
expect "--delete while it runs" "could not be deleted|Deletion of some streams groups failed|not empty|not EMPTY" streams --delete --group "$s"
expect "--reset-offsets while it runs" "only be reset if the group.*inactive|not empty|inactive" streams --group "$s" --input-topic "$s-in" --reset-offsets --to-earliest --execute
expect "kafka-configs, a streams group" "Completed updating config" java_tool ConfigCommand $B --alter --entity-type groups --entity-name "$s" --add-config streams.num.standby.replicas=1
end_java "$app" TERM
for i in $(seq 30); do streams --describe --group "$s" --state 2>>"$log" | grep -q Empty && break; done
expect "it is empty" "^$s\s.*Empty" streams --describe --group "$s" --state
for to in "--to-earliest 0" "--to-latest [0-9]+" "--to-offset\ 3 3" "--shift-by\ -1 [0-9]+" "--by-duration\ P1D 0" "--to-datetime\ 2000-01-01T00:00:00.000 0" "--to-current [0-9]+"; do
  how=${to% *} how=${how//\\/} want=${to##* }
  expect "--reset-offsets $how" "$s-in +0 +$want" streams --group "$s" --input-topic "$s-in:0" --reset-offsets $how --dry-run
done
expect "--reset-offsets --execute" "$s-in +0 +0" streams --group "$s" --input-topic "$s-in" --reset-offsets --to-earliest --execute
streams --group "$s" --input-topic "$s-in" --reset-offsets --to-current --dry-run --export >"$out/streams-groups.csv" 2>>"$log"
expect "--reset-offsets --from-file" "$s-in +0 +0" streams --group "$s" --reset-offsets --from-file "$out/streams-groups.csv" --execute
expect "--delete-offsets" "$s-in +0 +Successful" streams --group "$s" --delete-offsets --input-topic "$s-in:0"
expect "--delete, with its topics" "was successful" streams --delete --group "$s" --delete-all-internal-topics
left() { streams --list | grep "^$s\$"; java_tool TopicCommand $B --list | grep -E "^$s-.*-(changelog|repartition)\$"; echo nothing; }
count_left() { left | awk '{ last = $0 } END { print NR, last }'; }
expect "it and its topics are gone" "^1 nothing" count_left
