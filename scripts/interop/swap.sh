# Apache Kafka and Samsa take turns over one directory while clients live on: two idempotent producers, a transactional bank,
# groups of the classic and the consumer protocol and, with 4.4.0, a share group and Kafka Streams (interop/kafka/java/SwapClients.java). Stops alternate between SIGTERM and
# kill -9. Eight switches with Kafka 4.4.0, three with 4.0.0 and with 3.9.1, whose metadata version and features stay as they
# are. Each time Kafka's log must hold nothing but what its own restarts leave there. At the end both brokers describe the
# same state, and Kafka's dump tool finds nothing wrong in any file.
#
# SWAP_VERSIONS="4.4.0:8 4.0.0:3" chooses versions and switches, SWAP_SECONDS how long each broker is under load (1).

if [ -n "$given_broker" ]; then skip "BROKER is not ours: its directory cannot be handed over"; return 0; fi
build_samsa || { bad "samsa does not build"; return 0; }
java_classes || { bad "the Java clients do not build"; return 0; }
swap_seconds=${SWAP_SECONDS:-1}
mkdir -p "$out/swap"

# What Kafka logs when it starts and stops on a directory of its own too: it says so at every start, loses a race against its
# own election, is slow on a busy machine, waits for the session of the broker that was killed, or stops under its clients.
kafkas_own='Performing controller activation|Attempting to close NetworkClient that has already been closed|Unexpected error handling request RequestHeader\(apiKey=CONTROLLER_REGISTRATION|Exceptionally slow controller event|controller event queue overloaded|heartbeat request but received error REQUEST_TIMED_OUT|Unable to register broker 1 because the controller returned error DUPLICATE_BROKER_REGISTRATION|No controller defined in metadata cache|Connection to node .* could not be established|Bootstrap broker .* disconnected|Writing records to .* failed due to: For requests intended only for the leader|Execution of FlushBatch failed due to For requests intended only for the leader|Stopped loading records from|EventProcessor is closed'

# hear WANT: waits until the clients say it; what their libraries log goes to the log.
hear() {
  local line
  while read -r -t 180 line <&"$clients_out"; do
    [ "$line" = "$1" ] && return 0
    echo "clients: $line" >>"$log"
  done
  return 1
}

# describe FILE: the state of the broker at $swap_addr as Kafka's tools tell it, without what is told of the moment.
describe() {
  local b="--bootstrap-server $swap_addr" id
  {
    echo "TopicCommand $b --describe"
    for id in topics brokers $([ "$version" = 3.9.1 ] || echo groups) users client-metrics ips; do echo "ConfigCommand $b --describe --entity-type $id"; done
    for id in offsets state members; do echo "consumer.group.ConsumerGroupCommand $b --describe --all-groups --$id"; done
    [ "$version" != 4.4.0 ] || for id in offsets state members; do
      echo "consumer.group.ShareGroupCommand $b --describe --all-groups --$id"
      echo "streams.StreamsGroupCommand $b --describe --all-groups --$id"
    done
    echo "GroupsCommand $b --list"
    echo "TransactionsCommand $b list"
    echo "TransactionsCommand $b describe --transactional-id swap-bank"
    for id in 0 1; do echo "TransactionsCommand $b describe-producers --topic swap-bank --partition $id"; done
    for id in 0 1 2; do echo "TransactionsCommand $b describe-producers --topic swap-numbers --partition $id"; done
    echo "FeatureCommand $b describe"
    echo "MetadataQuorumCommand $b describe --status"
    echo "GetOffsetShell $b"
    echo "LogDirsCommand $b --describe"
  } | step_timeout=120 java_class Tools 2>>"$log" |
    sed -E -e 's/(FinalizedVersionLevel: .*)Epoch: [0-9]+/\1Epoch: N/' -e 's/^([0-9]+[[:space:]]+swap-bank .*[[:space:]])[0-9]+[[:space:]]*$/\1N/' -e 's/^(LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs): .*/\1: N/' -e 's/[[:space:]]+$//' \
      -e '/^\{"brokers"/{s/\[\{"partition"/[,{"partition"/;s/,\{"partition"/\n&/g;s/\}\]/}\n]/}' |
    since_4_4 | sort_configs | awk '/^### /{n = $2} n ~ /Group|Transactions|GetOffset/ && !/^###/ {print n ": " $0; next} {print}' >"$1.told"
  # Lists come in no order.
  awk '/^### /{k++} {printf "%03d %s\n", k, $0}' "$1.told" | sort >"$1"
}

# since_4_4 leaves out of standard input what older releases do not tell: what is supported beyond them, and where values
# of groups and client metrics come from.
since_4_4() {
  if [ "$version" = 4.4.0 ]; then cat; else
    sed -E -e 's/ synonyms=.*//' -e 's/SupportedMinVersion.*FinalizedVersionLevel/FinalizedVersionLevel/' -e '/FinalizedVersionLevel: 0 /d'; fi
}

# sort_configs puts the settings of topics in order: both brokers have them in that of a hash table, not of the same size.
sort_configs() {
  awk 'i = index($0, "\tConfigs: ") {
    n = split(substr($0, i + 10), c, ",")
    for (a = 2; a <= n; a++) { x = c[a]; for (b = a - 1; b > 0 && c[b] > x; b--) c[b + 1] = c[b]; c[b + 1] = x }
    line = substr($0, 1, i + 9) c[1]; for (a = 2; a <= n; a++) line = line "," c[a]
    print line; next
  } {print}'
}

# dump_all DIR FILE: Kafka's dump tool over every file of a directory that was closed in order.
dump_all() {
  local d=$1
  {
    echo "DumpLogSegments --deep-iteration --files $(comma $(ls "$d"/swap-*/*.log))"
    echo "DumpLogSegments --offsets-decoder --files $(comma $(ls "$d"/__consumer_offsets-*/*.log))"
    [ "$version" != 4.4.0 ] || echo "DumpLogSegments --share-group-state-decoder --files $(comma $(ls "$d"/__share_group_state-*/*.log))"
    echo "DumpLogSegments --transaction-log-decoder --files $(comma $(ls "$d"/__transaction_state-*/*.log))"
    echo "DumpLogSegments --cluster-metadata-decoder --files $(comma $(ls "$d"/__cluster_metadata-0/*.log "$d"/__cluster_metadata-0/*.checkpoint))"
    echo "DumpLogSegments --index-sanity-check --files $(comma $(find "$d" -path '*/__cluster*' -prune -o -name '*index' -size +0 -print))"
    echo "DumpLogSegments --files $(comma $(find "$d" -name '*.snapshot'))"
  } | step_timeout=120 java_class Tools >"$2" 2>&1
}

declare -A read_to=() # how many lines of each log were judged

# judge_logs WHAT [first]: nothing in the logs of the run that has ended, of Kafka or of Samsa, that should worry anybody.
judge_logs() {
  local found file=$out/kafka-$swap_port/kafka.log worry=' (ERROR|WARN|FATAL) ' but=$kafkas_own
  [ "$now" = kafka ] || file=$out/samsa-$(basename "$swap_dir").log worry='level=(ERROR|WARN)' but='an internal topic gets fewer replicas'
  [ "$2" = first ] && { read_to[$file]=$(wc -l <"$file"); return; } # nobody but Kafka has been here yet
  found=$(tail -n +$((${read_to[$file]:-0} + 1)) "$file" | grep -E "$worry" | grep -vE "$but")
  read_to[$file]=$(wc -l <"$file")
  if [ -z "$found" ]; then ok "$1: nothing to complain of"; else echo "$found" | head -n 20 >>"$log"; bad "$1: $(head -n 1 <<<"$found" | cut -c1-200)"; fi
}

# start_next: the other broker than the last.
start_next() {
  if [ "$now" = kafka ]; then
    now=samsa
    # On Kafka's own settings, but for what Samsa does not do: asking an authorizer.
    grep -vE '^(authorizer.class.name|super.users)=' "$out/kafka-$swap_port/server.properties" >"$out/swap/$version.properties"
    start_samsa "$swap_dir" "" --config "$out/swap/$version.properties" && swap_pid=$broker_pid
  else
    now=kafka
    kafka_settings=$swap_settings start_kafka "$swap_dir" "$swap_port" && swap_pid=$kafka_pid
  fi
}

# keep_settings: settings and limits that Samsa keeps for Kafka, whether it acts on them or not.
keep_settings() {
  local b="--bootstrap-server $swap_addr"
  {
    echo "TopicCommand $b --create --topic swap-kept --partitions 1"
    echo "ConfigCommand $b --alter --entity-type topics --entity-name swap-kept --add-config retention.ms=864000000"
    echo "ConfigCommand $b --alter --entity-type brokers --entity-default --add-config log.cleaner.threads=2"
    echo "ConfigCommand $b --alter --entity-type users --entity-name u --add-config producer_byte_rate=1000000"
    echo "ConfigCommand $b --alter --entity-type users --entity-name s --add-config SCRAM-SHA-256=[iterations=4096,password=secret]"
    echo "ConfigCommand $b --alter --entity-type client-metrics --entity-name m --add-config interval.ms=60000"
    [ "$version" = 3.9.1 ] || echo "ConfigCommand $b --alter --entity-type groups --entity-name swap-consumer --add-config consumer.session.timeout.ms=46000"
    echo "AclCommand $b --add --allow-principal User:u --operation Read --topic swap-bank"
  } | java_class Tools >"$out/swap/$version.kept" 2>>"$log"
  if grep -q Exception "$out/swap/$version.kept"; then bad "$version: settings to be kept are set"; else ok "$version: settings to be kept are set"; fi
}

swap() { # VERSION SWITCHES
  local version=$1 switches=$2 protocols="classic consumer" ends=(TERM KILL KILL) decoders=6 i end clients clients_in clients_out found
  kafka_jars_of "$version" || { bad "$version: its jars cannot be fetched"; return; }
  [ "$version" = 3.9.1 ] && protocols=classic
  [ "$version" = 4.4.0 ] && protocols+=" share streams"
  [ "$version" = 4.4.0 ] && decoders=7
  [ "$switches" -gt 3 ] && ends=(TERM TERM KILL KILL)
  local kafka_jars=$jars_of_version
  swap_dir=$out/swap-$version now=samsa swap_port=$(free_port) swap_addr=
  swap_addr=127.0.0.1:$swap_port
  rm -rf "$swap_dir" "$out/kafka-$swap_port"; rm -f "$out/samsa-$(basename "$swap_dir").log"
  swap_settings=$(printf '%s\n' share.coordinator.state.topic.num.partitions=4 offsets.topic.num.partitions=4 transaction.state.log.num.partitions=4 log.index.size.max.bytes=65536 \
    metadata.log.max.record.bytes.between.snapshots=8192 broker.session.timeout.ms=6000 broker.heartbeat.interval.ms=500 \
    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer super.users=User:ANONYMOUS)
  start_next || { bad "Kafka $version starts"; return; }
  keep_settings
  rm -f "$out/swap/commands" "$out/swap/answers"; mkfifo "$out/swap/commands" "$out/swap/answers"
  rm -rf "$out/swap/streams"
  SWAP_STATE=$out/swap/streams step_timeout=900 java_class SwapClients "$swap_addr" $protocols <"$out/swap/commands" >"$out/swap/answers" 2>"$out/swap/$version.clients" &
  clients=$!; pids+=("$clients")
  exec {clients_in}>"$out/swap/commands" {clients_out}<"$out/swap/answers"
  hear up || { bad "$version: the clients start"; return; }
  for i in $(seq "$switches"); do
    sleep "$swap_seconds"
    echo calm >&"$clients_in"; hear calm || { bad "$version: the clients go on under $now, switch $i"; return; }
    end=${ends[(i - 1) % ${#ends[@]}]}
    stop_process "$swap_pid" "$end"
    judge_logs "$version, $now before switch $i" "$([ "$i" = 1 ] && echo first)"
    start_next || { bad "$version: $now takes over at switch $i, after $end"; return; }
    ok "$version: $now takes over at switch $i, after $end"
    echo go >&"$clients_in"
  done
  sleep "$swap_seconds"
  echo calm >&"$clients_in"; hear calm # what the last broker took over has ended by now
  echo go >&"$clients_in"; echo finish >&"$clients_in"
  cat <&"$clients_out" >"$out/swap/$version.accounts"
  exec {clients_in}>&- {clients_out}<&-
  wait "$clients" 2>/dev/null
  cat "$out/swap/$version.accounts" >>"$log"
  if grep -q 'violations 0$' "$out/swap/$version.accounts"; then ok "$version: $(grep ^acknowledged "$out/swap/$version.accounts")"; else bad "$version: $(grep -m 1 ^violation "$out/swap/$version.accounts")"; fi
  describe "$out/swap/$version.$now"; [ "$now" = samsa ] || keeps_acls
  stop_process "$swap_pid"; judge_logs "$version, $now at the end" ""
  start_next || { bad "$version: $now takes over at the end"; return; }
  describe "$out/swap/$version.$now"; [ "$now" = samsa ] || keeps_acls
  stop_process "$swap_pid"; judge_logs "$version, $now after the end" ""
  same "$version: both describe the same" "$out/swap/$version.kafka" "$out/swap/$version.samsa"
  if grep -q "Exception" "$out/swap/$version.kafka"; then bad "$version: a tool failed"; else ok "$version: every tool described something"; fi
  dump_all "$swap_dir" "$out/swap/$version.dump"
  found=$(grep -E 'isvalid: false|Exception|mismatch|Mismatches in|out of order|Non-consecutive|Could not deserialize|Failed to' "$out/swap/$version.dump" | head -n 5)
  echo "$found" >>"$log"
  if [ "$(grep -c '^### ' "$out/swap/$version.dump")" = "$decoders" ] && [ "$(grep -c '^Dumping' "$out/swap/$version.dump")" -gt 30 ] && [ -z "$found" ]; then
    ok "$version: Kafka's dump tool finds nothing wrong in $(find "$swap_dir" -type f | wc -l) files"; else bad "$version: Kafka's dump tool finds something"; fi
  if ls "$swap_dir" | grep -qE -- '-stray$'; then bad "$version: a partition was set aside"; else ok "$version: no partition was set aside"; fi
}

# keeps_acls: what only Kafka serves is still there after Samsa.
keeps_acls() { expect "$version: the ACL is kept" "principal=User:u" java_tool AclCommand --bootstrap-server "$swap_addr" --list; }

for each in ${SWAP_VERSIONS:-4.4.0:8 4.0.0:3 3.9.1:3}; do swap "${each%:*}" "${each#*:}"; done
