# A Kafka Streams application with exactly_once_v2 counts words while it is killed and started again, and the broker
# under it too; then of two instances one is killed for good, and the other counts on. Each word's counts must then read
# 1, 2, 3… without a gap or a repetition, up to how often it was written.
#
# STREAMS_KILLS and STREAMS_BROKER_KILLS say how often (3 and 1), STREAMS_PROTOCOLS with which group protocols.

if [ -n "$given_broker" ]; then skip "BROKER is not ours: it cannot be killed"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
java_classes || { bad "interop/kafka/java does not compile"; return 0; }
streams=$out/streams
rm -rf "$streams"; mkdir -p "$streams"
kills=${STREAMS_KILLS:-3} broker_kills=${STREAMS_BROKER_KILLS:-1} lines=400 # lines written per kill

# serve starts the broker over what it had, at ADDR.
serve() {
  start_samsa "$streams/data" "$1" --set group.initial.rebalance.delay.ms=0 --set group.consumer.min.session.timeout.ms=6000 --set group.consumer.session.timeout.ms=6000 \
    --set group.streams.min.session.timeout.ms=6000 --set group.streams.session.timeout.ms=6000 && streams_pid=$broker_pid streams_addr=$broker_addr
}
# application [N] starts the N-th instance of the application.
application() {
  step_timeout=600 java_class WordCount "$streams_addr" "$app" "$protocol" "$streams/state-$app-${1:-1}" "$app-in" "$app-out" >>"$streams/$app.log" 2>&1 &
  app_pid=$!; pids+=("$app_pid")
}
# sentences FROM TO: lines of four words each, from 13, 7, 50 and 1 of them.
sentences() { seq "$1" "$2" | awk '{ print "a" $1 % 13, "b" $1 % 7, "c" $1 % 50, "all" }'; }
# counted prints how many counts are committed.
counted() { "$samsa" consume "$app-out" --bootstrap "$streams_addr" --to end --read-committed --format '%p %k %v\n' 2>>"$log" >"$streams/$app.out"; wc -l <"$streams/$app.out"; }
# until_counted N waits until so many are.
until_counted() { local i; for i in $(seq 120); do [ "$(counted)" -ge "$1" ] && return 0; sleep 0.5; done; return 1; }

# write FROM TO writes lines slowly.
write() { sentences "$1" "$2" | while read -r line; do echo "$line"; sleep 0.005; done | "$samsa" produce "$app-in" --bootstrap "$streams_addr" --quiet >>"$log" 2>&1; }

for protocol in ${STREAMS_PROTOCOLS:-classic streams}; do
  app=count-$protocol
  serve "${streams_addr:-127.0.0.1:0}" || { bad "the broker did not start"; return 0; }
  for t in in out; do "$samsa" topics create "$app-$t" --partitions 3 --bootstrap "$streams_addr" >>"$log" 2>&1; done
  application
  for kill in $(seq "$kills"); do
    # The writer goes on while the application is down and while it comes back; only the broker's end lets it wait.
    write $(((kill - 1) * lines + 1)) $((kill * lines)) &
    writer=$!
    # A quarter of the way into what is written meanwhile, so that transactions are open.
    until_counted $(((kill - 1) * lines * 4 + lines)) || { bad "$app: counting got no further before kill $kill"; break; }
    end_java "$app_pid" KILL
    if [ "$kill" -le "$broker_kills" ]; then wait "$writer"; stop_process "$streams_pid" KILL; serve "$streams_addr" || { bad "the broker did not start again"; return 0; }; fi
    application
    wait "$writer" 2>/dev/null
  done
  want=$((kills * lines * 4))
  if until_counted "$want"; then ok "$app: counts to the end after $kills kills"; else bad "$app: $(counted) of $want counts are there"; fi
  first_pid=$app_pid
  application 2
  write $((kills * lines + 1)) $(((kills + 1) * lines)) &
  writer=$!
  until_counted $((want + lines)) || bad "$app: two instances got no further"
  end_java "$first_pid" KILL
  wait "$writer" 2>/dev/null
  want=$(((kills + 1) * lines * 4))
  if until_counted "$want"; then ok "$app: the second instance goes on when the first is killed"; else bad "$app: $(counted) of $want counts are there with one of two instances"; fi
  end_java "$app_pid" TERM
  counted >>"$log"
  sentences 1 $(((kills + 1) * lines)) | tr ' ' '\n' | awk '{ print $1, ++n[$1] }' | sort >"$streams/$app.want"
  cut -d' ' -f2,3 "$streams/$app.out" | sort >"$streams/$app.got"
  same "$app: exactly the right counts" "$streams/$app.want" "$streams/$app.got"
  if awk '$3 != ++n[$2] { exit 1 }' "$streams/$app.out"; then ok "$app: in order"; else bad "$app: in order"; fi
  echo "  $app: $(wc -l <"$streams/$app.got") counts of $want words, $kills kills of the application, $broker_kills of the broker, one of two instances"
  stop_process "$streams_pid"
done
