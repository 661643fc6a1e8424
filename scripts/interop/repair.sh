# Directories that were damaged and repaired: Apache Kafka starts on each of them without an error and serves every record that
# the damage has left; its dump tool finds the indexes in order.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: its directory cannot be damaged"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
repaired=$out/repaired
rm -rf "$repaired"; mkdir -p "$repaired" "$out/dump"
small= topics="rolled several txn"

# served ADDR FILE: everything in the topics of people, one JSON object a line, sorted.
served() {
  local topic
  for topic in $topics; do timeout "$step_timeout" "$samsa" consume "$topic" --bootstrap "$1" --to end --json; done | sort >"$2"
}
# flip FILE BYTE: changes one bit.
flip() {
  local b; b=$(od -An -tu1 -j "$2" -N1 "$1")
  printf "\\x$(printf %02x $((b ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# segment N: the first file of topic rolled's N-th segment, without its ending.
segment() { ls "$dir"/rolled-0/*.log | sed -n "${1}s/\.log$//p"; }
# accepts NAME MOST: repairs $dir, then Apache Kafka starts on it; at most MOST records are missing, and nothing else has changed.
accepts() {
  local name=$1 most=$2 port missing
  check "$name: repair" "$samsa" repair "$dir" --yes
  "$samsa" verify "$dir" --json 2>>"$log" | grep '"severity":"error"' | grep -v '"rule":"offset-gap"' >"$dir.findings"
  if [ -s "$dir.findings" ]; then cat "$dir.findings" >>"$log"; bad "$name: verify after repair"; else ok "$name: verify after repair"; fi
  port=$(free_port)
  if start_kafka "$dir" "$port"; then ok "$name: Apache Kafka starts"; else bad "$name: Apache Kafka starts"; return; fi
  served "127.0.0.1:$port" "$dir.served"
  stop_process "$kafka_pid"
  if grep -E ' (ERROR|FATAL) ' "$out/kafka-$port/kafka.log" >>"$log"; then bad "$name: Apache Kafka logged an error"; else ok "$name: Apache Kafka logged no error"; fi
  missing=$(comm -23 "$repaired/whole" "$dir.served" | wc -l)
  if [ -z "$(comm -13 "$repaired/whole" "$dir.served" | head -n 1)" ] && [ "$missing" -le "$most" ]; then ok "$name: $missing of $(wc -l <"$repaired/whole") records are missing"; else
    comm -13 "$repaired/whole" "$dir.served" | head -n 3 >>"$log"; bad "$name: $missing records are missing, at most $most should be, or others have come"; fi
  if [ -z "$(find "$dir" -maxdepth 1 -name '*-stray')" ]; then ok "$name: Apache Kafka set nothing aside"; else bad "$name: Apache Kafka set something aside"; fi
}

# A directory with a topic of several segments, one of three partitions, and one of transactions; once stopped in order, once killed.
origin=$repaired/origin
start_samsa "$origin" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 --set metadata.log.max.record.bytes.between.snapshots=2000 --set offsets.topic.num.partitions=2 --set transaction.state.log.num.partitions=2 || { bad "the broker did not start"; return 0; }
"$samsa" topics create rolled --bootstrap "$broker_addr" --config segment.bytes=1048576 --config index.interval.bytes=512 >>"$log" 2>&1
"$samsa" topics create several --partitions 3 --bootstrap "$broker_addr" >>"$log" 2>&1
"$samsa" topics create txn --bootstrap "$broker_addr" >>"$log" 2>&1
"$samsa" bench produce --bootstrap "$broker_addr" --topic rolled --num-records 40000 --record-size 100 --command-property batch.size=4096 linger.ms=1 >>"$log" 2>&1
seq 1 3000 | sed 's/.*/key&:value &/' | "$samsa" produce several --bootstrap "$broker_addr" --key-separator : --quiet >>"$log" 2>&1
java_tool ProducerPerformance --bootstrap-server "$broker_addr" --topic txn --num-records 200 --record-size 10 --throughput 500 --transactional-id repair --transaction-duration-ms 20 >>"$log" 2>&1
"$samsa" consume several --bootstrap "$broker_addr" --group repair --count 100 >>"$log" 2>&1
served "$broker_addr" "$repaired/whole"
mkdir "$repaired/killed" && { kill -STOP "$broker_pid"; cp -r --sparse=always "$origin/." "$repaired/killed"; kill -CONT "$broker_pid"; }
rm -f "$repaired/killed/.lock"
if stop_process "$broker_pid"; then ok "a directory to damage, $(wc -l <"$repaired/whole") records"; else bad "a directory to damage"; fi
# Room is made on a file system that little else writes to; what goes, goes to the other one.
dir=$repaired/clean small=$(mktemp -d /dev/shm/samsa-repair.XXXXXX 2>>"$log")
if [ -n "$small" ]; then dir=$small/clean; fi
cp -r --sparse=always "$origin" "$dir"
flip "$(segment 1).log" 300000; flip "$(segment 2).index" 100; flip "$(segment 2).log" 500012
truncate -s -5 "$(segment 1).timeindex"
for f in "$dir"/txn-0/*.snapshot; do flip "$f" 20; done
echo x >"$dir/several-1/leader-epoch-checkpoint"; echo x >"$dir/replication-offset-checkpoint"
rm "$dir/several-2/partition.metadata"
newest=$(ls "$dir"/__cluster_metadata-0/*.checkpoint | tail -n 1)
if [ "$(ls "$dir"/__cluster_metadata-0/*.checkpoint | wc -l)" -ge 2 ]; then ok "there are several metadata snapshots"; else bad "there is one metadata snapshot only"; fi
flip "$newest" 700; echo '{"leaderId":' >"$dir/__cluster_metadata-0/quorum-state"; rm "$dir/__cluster_metadata-0/partition.metadata"
first=0 aside=$repaired/aside; mkdir "$aside"
if [ -n "$small" ]; then
  first=$((10#$(basename "$(segment 2)")))
  check "repair before room is made" "$samsa" repair "$dir" --yes
  check "room is made" "$samsa" repair "$dir" --yes --free "$(($(df --output=avail -B1 "$dir" | tail -n 1) + 500000))" --aside "$aside"
  if [ -e "$dir/rolled-0/00000000000000000000.log" ]; then bad "the oldest segment is still there"; else ok "the oldest segment is gone"; fi
else
  skip "no other file system to make room with"
fi
accepts "stopped in order" $((first + 400))
java_tool DumpLogSegments --files "$(comma $(ls "$dir"/{rolled,several,txn}-*/*index))" >"$out/dump/repaired.kafka" 2>"$out/dump/repaired.kafka.err"
if grep -vE '^Non-consecutive offsets|^ +-1 is followed by' "$out/dump/repaired.kafka.err" >>"$log"; then bad "Kafka's dump tool finds an index that is wrong"; else ok "Kafka's dump tool finds the indexes in order"; fi
if [ -n "$small" ]; then rm -rf "$small"; fi

dir=$repaired/killed
flip "$(segment 1).log" 700000
printf 'torn write' >>"$(segment 4).log"
dd if=/dev/zero of="$dir/several-0/00000000000000000000.index" bs=8 count=1 conv=notrunc status=none
mv "$dir/several-1" "$dir/several-1.0123456789abcdef0123456789abcdef-stray"; rm "$dir/several-1.0123456789abcdef0123456789abcdef-stray/partition.metadata"
accepts "killed" 400

# A node with two log directories, of which one after the other loses its meta.properties, and then both.
dir=$repaired/two-a other=$repaired/two-b topics=several
start_samsa "$dir" 127.0.0.1:0 --dir "$other" || { bad "the broker did not start"; return 0; }
"$samsa" topics create several --partitions 6 --bootstrap "$broker_addr" >>"$log" 2>&1
seq 1 3000 | sed 's/.*/key&:value &/' | "$samsa" produce several --bootstrap "$broker_addr" --key-separator : --quiet >>"$log" 2>&1
served "$broker_addr" "$repaired/two.whole"
cluster=$(sed -n 's/^cluster.id=//p' "$dir/meta.properties")
stop_process "$broker_pid"
# lines DIR: its meta.properties without the date.
lines() { grep -v '^#' "$1/meta.properties"; }
was_a=$(lines "$dir") was_b=$(lines "$other")
rm "$dir/meta.properties"
check "meta.properties beside the metadata log" "$samsa" repair "$dir" --yes --log-dirs "$dir,$other"
head -c 60 "$other/meta.properties" >"$other/cut" && mv "$other/cut" "$other/meta.properties"
check "meta.properties that was cut" "$samsa" repair "$other" --yes --log-dirs "$dir,$other"
rm "$dir/meta.properties" "$other/meta.properties"
check "meta.properties of both: the first" "$samsa" repair "$dir" --yes --cluster-id "$cluster"
check "meta.properties of both: the second" "$samsa" repair "$other" --yes --metadata "$dir"
if [ "$(lines "$dir")" = "$was_a" ] && [ "$(lines "$other")" = "$was_b" ]; then ok "meta.properties: as before"; else lines "$dir" >>"$log"; lines "$other" >>"$log"; bad "meta.properties: not as before"; fi
# whole ADDR WHO: everything is served.
whole() {
  served "$1" "$dir.served"
  if cmp -s "$repaired/two.whole" "$dir.served"; then ok "$2 serves all $(wc -l <"$dir.served") records"; else bad "$2: $(wc -l <"$dir.served") records of $(wc -l <"$repaired/two.whole")"; fi
}
if start_samsa "$dir" 127.0.0.1:0 --dir "$other"; then ok "Samsa starts on both"; else bad "Samsa starts on both"; return 0; fi
whole "$broker_addr" Samsa
stop_process "$broker_pid"
port=$(free_port)
if kafka_settings="log.dirs=$dir,$other" start_kafka "$dir" "$port"; then ok "Apache Kafka starts on both"; else bad "Apache Kafka starts on both"; return 0; fi
whole "127.0.0.1:$port" "Apache Kafka"
stop_process "$kafka_pid"
if grep -E ' (ERROR|FATAL) ' "$out/kafka-$port/kafka.log" >>"$log"; then bad "Apache Kafka logged an error"; else ok "Apache Kafka logged no error"; fi
if [ -z "$(find "$dir" "$other" -maxdepth 1 -name '*-stray')" ]; then ok "Apache Kafka set nothing aside"; else bad "Apache Kafka set something aside"; fi
