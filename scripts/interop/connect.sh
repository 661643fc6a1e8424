# A Connect worker with a source and a sink connector of interop/kafka/java: it is stopped in order and killed, and goes
# on where the offsets say that it was. The source keeps its offsets in a file, the sink commits to a group.

need_broker || { bad "the broker did not start"; return 0; }
java_classes || { bad "interop/kafka/java does not compile"; return 0; }
connect=$out/connect topic=connect-$run_id
rm -rf "$connect"; mkdir -p "$connect/plugins"
each=${CONNECT_RECORDS:-3000} # numbers that each of two source tasks writes
"$samsa" topics create "$topic" --partitions 3 --bootstrap "$broker" >>"$log" 2>&1

cat >"$connect/worker.properties" <<PROPERTIES
bootstrap.servers=$broker
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.file.filename=$connect/offsets
offset.flush.interval.ms=500
listeners=http://127.0.0.1:0
plugin.discovery=only_scan
plugin.path=$classes
consumer.auto.offset.reset=earliest
consumer.session.timeout.ms=6000
PROPERTIES
cat >"$connect/source.properties" <<PROPERTIES
name=numbers
connector.class=NumberSource
tasks.max=2
topic=$topic
count=$each
PROPERTIES
cat >"$connect/sink.properties" <<PROPERTIES
name=lines-$run_id
connector.class=LineSink
tasks.max=2
topics=$topic
file=$connect/lines
PROPERTIES

# worker starts the Connect worker.
worker() {
  step_timeout=180 java_class org.apache.kafka.connect.cli.ConnectStandalone "$connect/worker.properties" "$connect/source.properties" "$connect/sink.properties" >>"$connect/worker.log" 2>&1 &
  worker_pid=$!; pids+=("$worker_pid")
}
# written prints how many lines the sink has written.
written() { cat "$connect/lines" 2>/dev/null | wc -l; }
# until_written N waits until there are so many lines.
until_written() { local i; for i in $(seq 600); do [ "$(written)" -ge "$1" ] && return 0; kill -0 "$worker_pid" 2>/dev/null || return 1; sleep 0.1; done; return 1; }

worker
if until_written $((each / 2)); then ok "the sink writes what the source wrote"; else bad "the sink got no further, see ${connect#"$root"/}/worker.log"; fi
end_java "$worker_pid" TERM
worker
if until_written "$each"; then ok "goes on after a stop"; else bad "goes on after a stop"; fi
twice=$(sort "$connect/lines" | uniq -d | wc -l)
again=$(awk '{ print $3, $4 }' "$connect/lines" | sort | uniq -d | wc -l)
if [ "$twice $again" = "0 0" ]; then ok "nothing twice after a stop"; else bad "after a stop $again numbers were written and $twice records read again"; fi
end_java "$worker_pid" KILL
worker
for i in $(seq 600); do [ "$(awk '{ print $3, $4 }' "$connect/lines" | sort -u | wc -l)" -ge $((2 * each)) ] && break; sleep 0.1; done
"$samsa" consume "$topic" --bootstrap "$broker" --to end --format '%k %v\n' >"$connect/topic" 2>>"$log"
for i in $(seq 200); do [ "$(cut -d' ' -f1,2 "$connect/lines" | sort -u | wc -l)" -ge "$(wc -l <"$connect/topic")" ] && break; sleep 0.1; done
for task in 0 1; do seq 0 $((each - 1)) | sed "s/^/$task /"; done | sort >"$connect/want"
sort -u "$connect/topic" >"$connect/topic.once"
awk '{ print $3, $4 }' "$connect/lines" | sort -u >"$connect/lines.once"
same "every number is in the topic" "$connect/want" "$connect/topic.once"
same "every number is in the file" "$connect/want" "$connect/lines.once"
if [ "$(cut -d' ' -f1,2 "$connect/lines" | sort -u | wc -l)" = "$(wc -l <"$connect/topic")" ]; then ok "the sink read every record"; else bad "the sink read every record"; fi
echo "  connect: $((2 * each)) numbers; $(($(wc -l <"$connect/topic") - 2 * each)) written and $(($(wc -l <"$connect/lines") - $(wc -l <"$connect/topic"))) read again after the kill"
end_java "$worker_pid" TERM
lag=$("$samsa" groups describe "connect-lines-$run_id" --bootstrap "$broker" --json | tee -a "$log" | grep -oE '"lag": *-?[0-9]+' | grep -oE -- '-?[0-9]+$' | awk '{ n += $1 } END { print NR, n }')
if [ "$lag" = "3 0" ]; then ok "the sink committed what it read"; else bad "the sink's partitions and lag are $lag"; fi
