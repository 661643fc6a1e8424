# What the parts of interop.sh share: where things are, counting, running clients, starting brokers.

out=$root/build/interop${INTEROP_LANE:+/$INTEROP_LANE}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/samsa-interop
jars=$cache/kafka-4.4.0
node_dir=$cache/node
samsa=$root/bin/samsa
mkdir -p "$out" "$cache"
step_timeout=${STEP_TIMEOUT:-60}
run_id=$$-$(date +%s)
given_broker=${BROKER:-}

# ---- counting

all_passed=0 all_failed=0 all_skipped=0 part=

begin() { part=$1 passed=0 failed=0 skipped=0 part_start=$SECONDS; log=$out/$part.log; : >"$log"; }

ok() { passed=$((passed + 1)); echo "--- ok: $1" >>"$log"; }

bad() { failed=$((failed + 1)); echo "--- FAILED: $1" >>"$log"; echo "  $part: FAILED: $1 (see ${log#"$root"/})" >&2; }

skip() { skipped=$((skipped + 1)); echo "--- skipped: $1" >>"$log"; echo "  $part: skipped: $1"; }

end() {
  echo "$part: $passed passed, $failed failed$([ $skipped -gt 0 ] && echo ", $skipped skipped") ($((SECONDS - part_start)) s)"
  all_passed=$((all_passed + passed)) all_failed=$((all_failed + failed)) all_skipped=$((all_skipped + skipped))
}

total() {
  echo "interop: $all_passed passed, $all_failed failed$([ $all_skipped -gt 0 ] && echo ", $all_skipped skipped")"
  [ $all_failed -eq 0 ]
}

# run_lanes runs this script for $first, then for $lane1 and $lane2 at the same time.
run_lanes() {
  build_samsa || return 1
  export built=1
  "$0" "${first[@]}" || return 1
  rm -rf "$out/lane1" "$out/lane2" && mkdir -p "$out/lane1" "$out/lane2"
  INTEROP_LANE=lane1 "$0" "${lane1[@]}" > >(tee "$out/lane1/total") & local one=$! failed=0
  INTEROP_LANE=lane2 "$0" "${lane2[@]}" > >(tee "$out/lane2/total") || failed=1
  wait "$one" || failed=1
  return $failed
}

# check NAME COMMAND…: passes when the command exits 0.
check() {
  local name=$1; shift
  echo "=== $name: $*" >>"$log"
  if run_timed "$@" >>"$log" 2>&1 </dev/null; then ok "$name"; else bad "$name"; fi
}

# expect NAME REGEX COMMAND…: passes when the output (both streams) has a line that matches.
expect() {
  local name=$1 regex=$2 output; shift 2
  echo "=== $name: $*" >>"$log"
  output=$(run_timed "$@" 2>&1 </dev/null); echo "$output" >>"$log"
  if grep -qE -- "$regex" <<<"$output"; then ok "$name"; else echo "no line matches $regex" >>"$log"; bad "$name"; fi
}

# same NAME WANT GOT: passes when two files are equal and not empty.
same() {
  if [ -s "$2" ] && cmp -s "$2" "$3"; then ok "$1"; else
    { echo "=== $1: $2 and $3 differ"; diff "$2" "$3" | head -n 20 | cut -c1-300; } >>"$log"; bad "$1"
  fi
}

# run_timed bounds a command; functions, which timeout(1) cannot run, bound what they call themselves.
run_timed() { if [ "$(type -t "$1")" = function ]; then "$@"; else timeout "$step_timeout" "$@"; fi; }

# ---- clients

# java_class CLASS ARG…: a class of Apache Kafka's jars. The first run leaves an archive of loaded classes
# that halves the start of the later ones.
java_class() {
  local archive=$jars/classes-$(java -version 2>&1 | cksum | cut -d' ' -f1).jsa sharing
  if [ -f "$archive" ]; then sharing=-XX:SharedArchiveFile=$archive; else sharing=-XX:ArchiveClassesAtExit=$archive; fi
  timeout "$step_timeout" java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData "$sharing" -Xlog:cds=off -Xlog:cds+dynamic=off -cp "$jars/*${classes:+:$classes}" "$@"
}

# java_tool CLASS ARG…: the same for a class of org.apache.kafka.tools.
java_tool() { local class=$1; shift; java_class "org.apache.kafka.tools.$class" "$@"; }

# java_classes compiles interop/kafka/java into $classes.
java_classes() {
  classes=$out/classes
  [ -n "${compiled:-}" ] || { rm -rf "$classes" && javac -nowarn -d "$classes" -cp "$jars/*" "$root"/interop/kafka/java/*.java >>"$log" 2>&1 && compiled=1; }
}

# end_java PID SIGNAL ends a Java process that runs in the background below a subshell and timeout(1), and waits for it.
end_java() {
  local pid=$1 child
  while child=$(pgrep -P "$pid" -x 'timeout|java'); do pid=$child; done
  kill "-$2" "$pid" 2>/dev/null
  wait "$1" 2>/dev/null
}

# ---- dumps

# comma GLOB…: the files, separated by commas.
comma() { printf '%s,' "$@" | sed 's/,$//'; }

# dump_both NAME FILES FLAG…: the same lines from both tools, on standard output and on standard error.
dump_both() {
  local name=$1 files=$2; shift 2
  java_tool DumpLogSegments --files "$files" "$@" >"$out/dump/$name.kafka" 2>"$out/dump/$name.kafka.err"
  "$samsa" dump --files "$files" "$@" >"$out/dump/$name.samsa" 2>"$out/dump/$name.samsa.err"
  same "dump $name" "$out/dump/$name.kafka" "$out/dump/$name.samsa"
  if cmp -s "$out/dump/$name.kafka.err" "$out/dump/$name.samsa.err"; then ok "findings of $name"; else
    diff "$out/dump/$name.kafka.err" "$out/dump/$name.samsa.err" | head -n 20 >>"$log"; bad "findings of $name"; fi
}

# ---- brokers

pids=()

# start_samsa DIR LISTEN [FLAG…] starts a broker and sets broker_pid and broker_addr when it serves. LISTEN "": the flags say
# where it listens and where its data is.
start_samsa() {
  local dir=$1 err where=(--dir "$1" --listen "$2"); [ -n "$2" ] || where=(); shift 2
  err=$out/samsa-$(basename "$dir").log
  : >>"$err"
  local before; before=$(wc -l <"$err")
  "$samsa" serve "${where[@]}" "$@" 2>>"$err" &
  broker_pid=$!; pids+=("$broker_pid")
  local i
  for i in $(seq 200); do
    broker_addr=$(tail -n +$((before + 1)) "$err" | sed -n 's/.*msg=serving address=\([^ ]*\).*/\1/p' | tail -n 1)
    [ -n "$broker_addr" ] && return 0
    kill -0 "$broker_pid" 2>/dev/null || break
    sleep 0.05
  done
  echo "samsa did not start:" >&2; tail -n 5 "$err" >&2
  return 1
}

# stop_process PID [SIGNAL] ends a process of ours and waits for it.
stop_process() {
  kill "-${2:-TERM}" "$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

stop_all() { local p; for p in "${pids[@]}"; do kill -KILL "$p" 2>/dev/null; done; wait 2>/dev/null; }

build_samsa() { [ -n "${built:-}" ] || (cd "$root" && go build -o "$samsa" ./cmd/samsa) && built=1; }

# need_broker sets broker to the address to test: the given one, or a Samsa of our own that lives until the
# end of the script and writes to $out/data.
need_broker() {
  if [ -n "$given_broker" ]; then broker=$given_broker; return 0; fi
  if [ -z "${own_pid:-}" ]; then
    build_samsa || return 1
    rm -rf "$out/data"
    start_samsa "$out/data" 127.0.0.1:0 --set group.initial.rebalance.delay.ms=0 --set group.streams.initial.rebalance.delay.ms=0 \
      --set group.streams.min.session.timeout.ms=6000 --set group.streams.session.timeout.ms=6000 || return 1
    own_pid=$broker_pid own_addr=$broker_addr
  fi
  broker=$own_addr
}

# stop_own_broker stops the Samsa of need_broker cleanly.
stop_own_broker() {
  [ -n "${own_pid:-}" ] || return 0
  stop_process "$own_pid"; local status=$?
  own_pid=
  return $status
}

# kafka_jars_of VERSION: another release of Apache Kafka, fetched if it is not there; sets jars_of_version.
kafka_jars_of() {
  jars_of_version=$cache/kafka-$1
  [ "$jars_of_version" = "$jars" ] && return 0
  cmp -s "$root/interop/kafka/pom.xml" "$jars_of_version/.complete" && return 0
  echo "  fetching Apache Kafka $1 from Maven into ${jars_of_version/#$HOME/\~}"
  rm -rf "$jars_of_version"
  mvn -q -B -f "$root/interop/kafka/pom.xml" "-Dkafka.version=$1" dependency:copy-dependencies -DoutputDirectory="$jars_of_version" >>"$log" 2>&1 || return 1
  rm -f "$jars_of_version"/slf4j-reload4j-* # the second of two backends
  cp "$root/interop/kafka/pom.xml" "$jars_of_version/.complete"
}

# start_kafka DIR PORT: Apache Kafka on 127.0.0.1:PORT over log directory DIR, which is formatted if need
# be; sets kafka_pid when it serves. kafka_jars are those of another release, kafka_settings further settings, a line each.
start_kafka() {
  local dir=$1 port=$2 home=$out/kafka-$2 jars=${kafka_jars:-$jars} format=--standalone i
  mkdir -p "$home"
  sed -e "s|@PORT@|$port|g" -e "s|@CONTROLLER_PORT@|$((port + 1))|g" -e "s|@DIR@|$dir|g" "$root/interop/kafka/server.properties" >"$home/server.properties"
  echo "${kafka_settings:-}" >>"$home/server.properties"
  if ls "$jars"/kafka_2.13-3.* >/dev/null 2>&1; then # the controller is configured, not recorded
    format=
    sed -i "s|^controller.quorum.bootstrap.servers=|controller.quorum.voters=1@|" "$home/server.properties"
  fi
  local java=(java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Dlog4j2.configurationFile=$root/interop/kafka/log4j2.properties" -cp "$jars/*")
  if [ ! -f "$dir/meta.properties" ]; then
    "${java[@]}" kafka.tools.StorageTool format -t "${CLUSTER_ID:-c2Ftc2EtaW50ZXJvcC0xMg}" -c "$home/server.properties" $format >>"$home/kafka.log" 2>&1 || return 1
  fi
  "${java[@]}" kafka.Kafka "$home/server.properties" >>"$home/kafka.log" 2>&1 &
  kafka_pid=$!; pids+=("$kafka_pid")
  for i in $(seq 300); do
    "$samsa" topics list --bootstrap "127.0.0.1:$port" --timeout 2s >/dev/null 2>&1 && return 0
    kill -0 "$kafka_pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "Apache Kafka did not start:" >&2; grep -E 'ERROR|FATAL|Exception' "$home/kafka.log" | head -n 5 >&2
  return 1
}

# free_port prints a port that nobody listens on now.
free_port() {
  local p
  for p in $(seq $((20000 + RANDOM % 20000)) 2 60000); do
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return 0; }
  done
  return 1
}
