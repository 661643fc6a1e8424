# kill -9 under load: Kafka's verifiable producer writes while the broker is killed and started again, three
# times; a reader stays connected throughout. Every acknowledged record is there, once, at the offset that
# was acknowledged, and no offset goes back.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: it cannot be killed"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
killed=$out/killed
rm -rf "$killed" "$out"/kill.*
start_samsa "$killed" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 || { bad "the broker did not start"; return 0; }
kill_pid=$broker_pid kill_addr=$broker_addr
"$samsa" topics create killed --partitions 3 --bootstrap "$kill_addr" --config segment.bytes=1048576 >>"$log" 2>&1

"$samsa" consume killed --bootstrap "$kill_addr" --json >"$out/kill.live" 2>>"$log" &
reader=$!; pids+=("$reader")
step_timeout=120 java_tool VerifiableProducer --bootstrap-server "$kill_addr" --topic killed --acks -1 --max-messages 40000 --throughput 4000 >"$out/kill.acked" 2>>"$log" &
writer=$!; pids+=("$writer")

# acked: how many records the producer has reported by now.
acked() { grep -c producer_send_success "$out/kill.acked"; }
# until_acked N waits until so many are acknowledged.
until_acked() { local i; for i in $(seq 600); do [ "$(acked)" -ge "$1" ] && return 0; kill -0 "$writer" 2>/dev/null || return 1; sleep 0.1; done; return 1; }

for round in 1 2 3; do
  until_acked $((round * 8000)) || { bad "the producer got no further in round $round"; break; }
  stop_process "$kill_pid" KILL
  start_samsa "$killed" "$kill_addr" --set group.initial.rebalance.delay.ms=0 || { bad "restart $round"; return 0; }
  kill_pid=$broker_pid
  ok "restart $round after kill -9, $(acked) records acknowledged"
done
if wait "$writer"; then ok "the producer finished"; else bad "the producer finished"; fi
"$samsa" consume killed --bootstrap "$kill_addr" --to end --json >"$out/kill.all" 2>>"$log"
want=$(wc -l <"$out/kill.all")
for i in $(seq 100); do [ "$(wc -l <"$out/kill.live")" -ge "$want" ] && break; sleep 0.1; done
stop_process "$reader" INT
if /usr/bin/python3 "$here/interop/audit.py" "$out/kill.acked" "$out/kill.all" "$out/kill.live" >>"$log" 2>&1; then ok "nothing lost, repeated or moved"; else tail -n 5 "$log" >&2; bad "nothing lost, repeated or moved"; fi
if stop_process "$kill_pid"; then ok "clean stop"; else bad "clean stop"; fi
java_tool DumpLogSegments --files "$(comma $(ls "$killed"/killed-*/*.log))" --deep-iteration 2>>"$log" | grep -c 'isvalid: false' >"$out/kill.invalid"
if [ "$(cat "$out/kill.invalid")" = 0 ]; then ok "every batch is valid"; else bad "every batch is valid"; fi
