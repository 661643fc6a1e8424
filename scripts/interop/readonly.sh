# samsa serve --read-only over a directory of ZooKeeper's time that nobody may write to: Java clients read records of every format and
# commit offsets, whoever wants to change something hears why not, and not a byte of the directory changes.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: it has no directory of ZooKeeper's time"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
readonly_dir=$out/readonly/data
[ -d "$out/readonly" ] && chmod -R u+w "$out/readonly"
rm -rf "$out/readonly"; mkdir -p "$readonly_dir"
zstd -q -d -c "$root/internal/adopt/fromlogs/testdata/zookeeper.tar.zst" | tar -xf - -C "$readonly_dir" || { bad "the fixture is not there"; return 0; }
chmod -R a-w "$readonly_dir"
readonly_state() { (cd "$readonly_dir" && find . -printf '%P %y %m %s %T@\n' | sort && find . -type f | sort | xargs sha256sum) >"$1"; }
readonly_state "$out/readonly/before"

start_samsa "$readonly_dir" 127.0.0.1:0 --read-only --scratch "$out/readonly/scratch" || { bad "samsa serve --read-only"; return 0; }
B="--bootstrap-server $broker_addr"
for topic in old-0.9.0-lz4 old-0.10.2-gzip; do
  expect "a Java consumer reads $topic" "Processed a total of 300 messages" \
    java_tool consumer.ConsoleConsumer $B --topic "$topic" --from-beginning --max-messages 300 --timeout-ms 20000 --group readers
done
for topic in old-0.9.0-none old-0.9.0-lz4 old-0.9.0-snappy old-0.10.2-none old-0.10.2-lz4; do
  "$samsa" consume "$topic" --from start --to end --bootstrap "$broker_addr" >"$out/readonly/$topic" 2>>"$log"
  if [ "$(wc -l <"$out/readonly/$topic")" = 300 ]; then ok "samsa consume reads $topic"; else bad "samsa consume reads $topic"; fi
done
expect "a Java producer fails at once and says why" "PolicyViolationException: this broker serves its directories read-only" \
  bash -c "echo x | java -Xmx256m -cp '$jars/*' org.apache.kafka.tools.ConsoleProducer $B --topic first"
expect "the reader's offsets were committed" "^ *readers +old-0.9.0-lz4 +0 +300 +300" java_tool consumer.group.ConsumerGroupCommand $B --describe --group readers
if stop_process "$broker_pid"; then ok "Samsa stops"; else bad "Samsa stops"; fi
start_samsa "$readonly_dir" 127.0.0.1:0 --read-only --scratch "$out/readonly/scratch" || { bad "it starts again"; return 0; }
expect "and are kept in the scratch directory" "old-0.9.0-lz4 +0 +300" "$samsa" groups describe readers --bootstrap "$broker_addr"
stop_process "$broker_pid"
readonly_state "$out/readonly/after"
same "not a byte, mode or time has changed" "$out/readonly/before" "$out/readonly/after"
