# Kafka's verifiable producer and consumers, whose members go away and come back one after the other while records
# flow: dynamic and static members, of the classic and the consumer protocol. What is lost or consumed again is counted.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: its session timeouts are too long"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
rolling=$out/rolling
rm -rf "$rolling"; mkdir -p "$rolling"
start_samsa "$rolling/data" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 --set group.consumer.min.session.timeout.ms=6000 --set group.consumer.session.timeout.ms=6000 \
  --set group.consumer.min.heartbeat.interval.ms=500 --set group.consumer.heartbeat.interval.ms=500 || { bad "the broker did not start"; return 0; }
rolling_pid=$broker_pid rolling_addr=$broker_addr
rolls=${ROLLS:-3} members=3

# member N starts member N, whose output is added to what its predecessors wrote.
member() {
  local instance=() session=(--session-timeout 6000)
  [ "$kind" = static ] && instance=(--group-instance-id "member-$1")
  [ "$protocol" = consumer ] && session=()
  step_timeout=180 java_tool VerifiableConsumer --bootstrap-server "$rolling_addr" --topic "$topic" --group-id "$topic" --group-protocol "$protocol" --reset-policy earliest --verbose \
    "${session[@]}" "${instance[@]}" >>"$rolling/$topic.$1" 2>>"$rolling/$topic.$1.err" &
  member_pid[$1]=$!; pids+=($!)
}
# consumed prints how many records all members have seen, repeated ones too.
consumed() { cat "$rolling/$topic".[0-9] 2>/dev/null | grep -c record_data; }
# until_consumed N waits until so many were seen.
until_consumed() { local i; for i in $(seq 450); do [ "$(consumed)" -ge "$1" ] && return 0; sleep 0.1; done; return 1; }
for protocol in classic consumer; do
  for kind in dynamic static; do
    topic=rolling-$protocol-$kind
    "$samsa" topics create "$topic" --partitions 6 --bootstrap "$rolling_addr" >>"$log" 2>&1
    member_pid=()
    for m in $(seq $members); do member "$m"; done
    step_timeout=180 java_tool VerifiableProducer --bootstrap-server "$rolling_addr" --topic "$topic" --acks -1 --max-messages $((rolls * 2000 + 2000)) --throughput 700 >"$rolling/$topic.acked" 2>>"$log" &
    writer=$!; pids+=("$writer")
    for roll in $(seq "$rolls"); do
      until_consumed $((roll * 2000 - 1000)) || { bad "$topic: consuming got no further at roll $roll"; break; }
      m=$(((roll - 1) % members + 1)) signal=TERM
      # A static member of the consumer protocol that was killed holds its name until its session ends: it leaves in order.
      [ $((roll % 2)) = 0 ] && [ "$protocol-$kind" != consumer-static ] && signal=KILL
      end_java "${member_pid[$m]}" $signal; member "$m"
    done
    wait "$writer" || bad "$topic: the producer finished"
    if until_consumed $((rolls * 2000 + 2000)); then ok "$topic: members came and went $rolls times"; else bad "$topic: members came and went"; fi
    # A record that was consumed again makes up for one that is not there yet.
    for i in $(seq 200); do /usr/bin/python3 "$here/interop/verifiable.py" "$rolling/$topic.acked" "$rolling/$topic".[0-9] >"$rolling/$topic.audit" && break; sleep 0.2; done
    for m in $(seq $members); do end_java "${member_pid[$m]}" TERM; done
    verdict=$(/usr/bin/python3 "$here/interop/verifiable.py" "$rolling/$topic.acked" "$rolling/$topic".[0-9]); status=$?
    echo "  $topic: $verdict"
    if [ $status = 0 ]; then ok "$topic: $verdict"; else bad "$topic: $verdict"; fi
  done
done
if stop_process "$rolling_pid"; then ok "clean stop"; else bad "clean stop"; fi
