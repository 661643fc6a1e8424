# Apache Kafka starts on a directory that Samsa formatted and filled, serves what is in it, writes to it, and
# Samsa takes it back. Between the two, both dump tools print the same of what Kafka wrote.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: its directory cannot be handed over"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
shared_dir=$out/takeover
rm -rf "$shared_dir" "$out/handed"; mkdir -p "$out/handed" "$out/dump"

# contents ADDR FILE: everything in all topics, one JSON object a line, sorted.
contents() {
  local topic
  for topic in $("$samsa" topics list --bootstrap "$1" | tail -n +2 | cut -d' ' -f1); do
    "$samsa" consume "$topic" --bootstrap "$1" --to end --json
  done | sort >"$2"
}
# committed ADDR FILE: where the group stands.
committed() { "$samsa" groups describe handed --bootstrap "$1" --json | grep -E '"(topic|partition|committed|lag)"' >"$2"; }
# fill ADDR NAME: records of every codec in a topic of two partitions.
fill() {
  local codec
  "$samsa" topics create "$2" --partitions 2 --bootstrap "$1" --config segment.bytes=1048576 || return 1
  for codec in none gzip snappy lz4 zstd; do
    seq 1 500 | sed "s/.*/key&:$2 $codec value &/" | "$samsa" produce "$2" --bootstrap "$1" --compression $codec --key-separator : -H "codec=$codec" --quiet || return 1
  done
}

start_samsa "$shared_dir" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 || { bad "Samsa did not start"; return 0; }
check "fill as Samsa" fill "$broker_addr" by-samsa
check "commit as Samsa" "$samsa" consume by-samsa --bootstrap "$broker_addr" --group handed --count 1000
contents "$broker_addr" "$out/handed/1-samsa"; committed "$broker_addr" "$out/handed/1-samsa-group"
"$samsa" topics describe by-samsa --bootstrap "$broker_addr" --json | grep -E '"id"|segment.bytes' >"$out/handed/1-samsa-topic"
if stop_process "$broker_pid"; then ok "Samsa stops"; else bad "Samsa stops"; fi

kafka_port=$(free_port); kafka_addr=127.0.0.1:$kafka_port
if start_kafka "$shared_dir" "$kafka_port"; then ok "Apache Kafka starts on Samsa's directory"; else bad "Apache Kafka starts on Samsa's directory"; return 0; fi
contents "$kafka_addr" "$out/handed/2-kafka"; committed "$kafka_addr" "$out/handed/2-kafka-group"
"$samsa" topics describe by-samsa --bootstrap "$kafka_addr" --json | grep -E '"id"|segment.bytes' >"$out/handed/2-kafka-topic"
same "Kafka serves every record" "$out/handed/1-samsa" "$out/handed/2-kafka"
same "Kafka knows the group" "$out/handed/1-samsa-group" "$out/handed/2-kafka-group"
same "Kafka knows the topic" "$out/handed/1-samsa-topic" "$out/handed/2-kafka-topic"
check "fill as Kafka" fill "$kafka_addr" by-kafka
seq 1 100 | "$samsa" produce by-samsa --bootstrap "$kafka_addr" --quiet && ok "Kafka appends to Samsa's logs" || bad "Kafka appends to Samsa's logs"
check "commit as Kafka" "$samsa" consume by-samsa --bootstrap "$kafka_addr" --group handed --count 500
contents "$kafka_addr" "$out/handed/3-kafka"; committed "$kafka_addr" "$out/handed/3-kafka-group"
stop_process "$kafka_pid"
if grep -qE ' (ERROR|FATAL) ' "$out/kafka-$kafka_port/kafka.log"; then grep -E ' (ERROR|FATAL) ' "$out/kafka-$kafka_port/kafka.log" >>"$log"; bad "Kafka logged an error"; else ok "Kafka logged no error"; fi
moved=$(find "$shared_dir" -maxdepth 1 -name '*-stray' | wc -l)
if [ "$moved" = 0 ]; then ok "Kafka set nothing aside"; else bad "Kafka set $moved directories aside"; fi

dump_both by-kafka "$(comma $(ls "$shared_dir"/by-*/*.log))" --deep-iteration --print-data-log
dump_both by-kafka-indexes "$(comma $(ls "$shared_dir"/by-*/*index))"
dump_both by-kafka-metadata "$(comma $(ls "$shared_dir"/__cluster_metadata-0/*.log "$shared_dir"/__cluster_metadata-0/*.checkpoint))" --cluster-metadata-decoder
dump_both by-kafka-offsets "$(comma $(ls "$shared_dir"/__consumer_offsets-*/*.log))" --offsets-decoder

start_samsa "$shared_dir" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 || { bad "Samsa takes the directory back"; return 0; }
ok "Samsa takes the directory back"
contents "$broker_addr" "$out/handed/4-samsa"; committed "$broker_addr" "$out/handed/4-samsa-group"
same "Samsa serves every record" "$out/handed/3-kafka" "$out/handed/4-samsa"
same "Samsa knows the group" "$out/handed/3-kafka-group" "$out/handed/4-samsa-group"
check "fill as Samsa again" fill "$broker_addr" by-samsa-again
if stop_process "$broker_pid"; then ok "Samsa stops again"; else bad "Samsa stops again"; fi
