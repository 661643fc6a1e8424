# A distributed Connect worker, which keeps its connectors, offsets and states in topics: the same source and sink as in
# the part connect, set up over its REST interface. It is killed, and another one goes on from what the topics say.

need_broker || { bad "the broker did not start"; return 0; }
java_classes || { bad "interop/kafka/java does not compile"; return 0; }
connect=$out/distributed topic=distributed-$run_id
rm -rf "$connect"; mkdir -p "$connect"
each=${CONNECT_RECORDS:-3000} # numbers that each of two source tasks writes
"$samsa" topics create "$topic" --partitions 3 --bootstrap "$broker" >>"$log" 2>&1
rest=$(free_port)

cat >"$connect/worker.properties" <<PROPERTIES
bootstrap.servers=$broker
group.id=workers-$run_id
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=configs-$run_id
offset.storage.topic=offsets-$run_id
status.storage.topic=status-$run_id
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
offset.storage.partitions=5
exactly.once.source.support=disabled
offset.flush.interval.ms=500
session.timeout.ms=6000
heartbeat.interval.ms=1000
scheduled.rebalance.max.delay.ms=1000
listeners=http://127.0.0.1:$rest
plugin.discovery=only_scan
plugin.path=$classes
consumer.auto.offset.reset=earliest
consumer.session.timeout.ms=6000
PROPERTIES

# worker starts a Connect worker.
worker() {
  step_timeout=240 java_class org.apache.kafka.connect.cli.ConnectDistributed "$connect/worker.properties" >>"$connect/worker.log" 2>&1 &
  worker_pid=$!; pids+=("$worker_pid")
}
# ask METHOD PATH [BODY] asks the worker.
ask() { curl -sS --max-time 20 -X "$1" -H 'Content-Type: application/json' ${3:+-d "$3"} "http://127.0.0.1:$rest$2" 2>>"$log" | tee -a "$log"; }
# until_asked REGEX PATH waits for an answer that matches.
until_asked() { local i; for i in $(seq 240); do ask GET "$2" | grep -qE -- "$1" && return 0; kill -0 "$worker_pid" 2>/dev/null || return 1; sleep 0.25; done; return 1; }
# distinct prints how many different numbers the sink has written.
distinct() { awk '{ print $3, $4 }' "$connect/lines" 2>/dev/null | sort -u | wc -l; }
until_distinct() { local i; for i in $(seq 600); do [ "$(distinct)" -ge "$1" ] && return 0; kill -0 "$worker_pid" 2>/dev/null || return 1; sleep 0.2; done; return 1; }
running='"connector":\{"state":"RUNNING".*"tasks":\[\{"id":0,"state":"RUNNING".*"id":1,"state":"RUNNING"'

worker
if until_asked '"kafka_cluster_id"' /; then ok "a worker starts"; else bad "a worker starts, see ${connect#"$root"/}/worker.log"; return 0; fi
ask PUT /connectors/numbers/config "{\"connector.class\":\"NumberSource\",\"tasks.max\":\"2\",\"topic\":\"$topic\",\"count\":\"$each\"}" >/dev/null
ask PUT "/connectors/spread-$run_id/config" "{\"connector.class\":\"LineSink\",\"tasks.max\":\"2\",\"topics\":\"$topic\",\"file\":\"$connect/lines\"}" >/dev/null
if until_asked "$running" /connectors/numbers/status; then ok "a source runs"; else bad "a source runs"; fi
if until_asked "$running" "/connectors/spread-$run_id/status"; then ok "a sink runs"; else bad "a sink runs"; fi
if until_distinct $((each / 2)); then ok "the sink writes what the source wrote"; else bad "the sink got no further, see ${connect#"$root"/}/worker.log"; fi
end_java "$worker_pid" KILL
worker
if until_asked "$running" /connectors/numbers/status; then ok "another worker takes the connectors over"; else bad "another worker takes the connectors over"; fi
if until_distinct $((2 * each)); then ok "every number is in the file"; else bad "$(distinct) of $((2 * each)) numbers are in the file"; fi
"$samsa" consume "$topic" --bootstrap "$broker" --to end --format '%k %v\n' >"$connect/topic" 2>>"$log"
for task in 0 1; do seq 0 $((each - 1)) | sed "s/^/$task /"; done | sort >"$connect/want"
sort -u "$connect/topic" >"$connect/topic.once"
same "every number is in the topic" "$connect/want" "$connect/topic.once"
if until_asked '"offsets":\[.*"offset":' /connectors/numbers/offsets; then ok "the offsets of the source are told"; else bad "the offsets of the source are told"; fi
for i in $(seq 60); do
  lag=$("$samsa" groups describe "connect-spread-$run_id" --bootstrap "$broker" --json 2>>"$log" | grep -oE '"lag": *-?[0-9]+' | grep -oE -- '-?[0-9]+$' | awk '{ n += $1 } END { print NR, n }')
  [ "$lag" = "3 0" ] && break; sleep 0.5
done
if [ "$lag" = "3 0" ]; then ok "the sink committed what it read"; else bad "the sink's partitions and lag are $lag"; fi
ask DELETE /connectors/numbers >/dev/null
if until_asked "^\[\"spread-$run_id\"\]" /connectors; then ok "a connector is deleted"; else bad "a connector is deleted"; fi
for t in configs offsets status; do
  expect "$t is compacted" "cleanup.policy.*compact" "$samsa" topics describe "$t-$run_id" --bootstrap "$broker" --all-configs
done
end_java "$worker_pid" TERM
expect "the worker has left its group" '"state": *"Empty"' "$samsa" groups describe "workers-$run_id" --bootstrap "$broker" --json
