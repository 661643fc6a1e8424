# Write with one client, read with another. Every producer writes its lines under every codec it knows into
# one topic per codec; every consumer reads each topic, and the lines of each producer are compared.
#
# A line is key<TAB>value<TAB>headers, with \N for null; headers are name=value joined by commas.

need_broker || { bad "the broker did not start"; return 0; }
export BROKER=$broker NODE_PACKAGES=$node_dir
matrix=$out/matrix
rm -rf "$matrix"; mkdir -p "$matrix"
lines_per_producer=40

# lines NAME: what a producer writes. The name in the value tells the producers apart when reading.
lines() {
  awk -v name="$1" -v n=$lines_per_producer 'BEGIN {
    for (i = 0; i < n; i++) {
      key = (i % 7 == 3) ? "\\N" : "key " i % 10 " é"
      value = name ": " i " ✓ {\"a\":[1,\"b\"]}"
      if (i % 11 == 5) { for (j = 0; j < 300; j++) value = value " compressible" }
      headers = (i % 3 == 0) ? "" : (i % 3 == 1) ? "source=" name : "source=" name ",n=" i
      printf "%s\t%s\t%s\n", key, value, headers
    }
  }'
}

# ---- producers: NAME_produce CODEC TOPIC <lines

samsa_produce() {
  awk -F'\t' 'function quote(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
    { key = ($1 == "\\N") ? "null" : quote($1); n = split($3, hs, ","); headers = ""
      for (i = 1; i <= n; i++) { at = index(hs[i], "="); headers = headers (i > 1 ? "," : "") "{\"key\":" quote(substr(hs[i], 1, at - 1)) ",\"value\":" quote(substr(hs[i], at + 1)) "}" }
      print "{\"key\":" key ",\"value\":" quote($2) ",\"headers\":[" headers "]}" }' |
    "$samsa" produce "$2" --bootstrap "$broker" --compression "$1" --input json --quiet
}
console_produce() {
  # Kafka's console producer reads headers<TAB>key<TAB>value, headers as name:value.
  awk -F'\t' '{ gsub(/=/, ":", $3); print ($3 == "" ? "NULL" : $3) "\t" ($1 == "\\N" ? "NULL" : $1) "\t" $2 }' |
    java_tool ConsoleProducer --bootstrap-server "$broker" --topic "$2" --compression-codec "$1" --reader-property parse.key=true \
      --reader-property parse.headers=true --reader-property null.marker=NULL
}
kcat_produce() {
  # kcat gives all records of a run the same headers, so there is a run for each set of them.
  local all=$matrix/kcat.all headers flags h
  cat >"$all"
  cut -f3 "$all" | sort -u | while IFS= read -r headers; do
    flags=()
    if [ -n "$headers" ]; then IFS=, read -ra hs <<<"$headers"; for h in "${hs[@]}"; do flags+=(-H "$h"); done; fi
    awk -F'\t' -v want="$headers" '$3 == want { if ($1 == "\\N") print "" "\t" $2; else print $1 "\t" $2 }' "$all" |
      timeout "$step_timeout" kcat -b "$broker" -P -t "$2" -z "$1" -K '\t' -Z -X enable.idempotence=true "${flags[@]}" || return 1
  done
}
kafka_python_produce() { timeout "$step_timeout" /usr/bin/python3 "$root/interop/python/client.py" produce "$1" "$2"; }
kafkajs_produce() { timeout "$step_timeout" node "$root/interop/node/kafkajs.mjs" produce "$1" "$2"; }
platformatic_produce() { timeout "$step_timeout" node "$root/interop/node/platformatic.mjs" produce "$1" "$2"; }

# ---- consumers: NAME_consume TOPIC COUNT >lines

samsa_consume() { "$samsa" consume "$1" --bootstrap "$broker" --to end --json | /usr/bin/python3 "$here/interop/json_lines.py"; }
console_consume() {
  java_tool consumer.ConsoleConsumer --bootstrap-server "$broker" --topic "$1" --from-beginning --max-messages "$2" --timeout-ms 20000 \
    --formatter-property print.key=true --formatter-property print.headers=true --formatter-property null.literal='\N' |
    awk -F'\t' '{ if ($1 == "NO_HEADERS") $1 = ""; gsub(/:/, "=", $1); print $2 "\t" $3 "\t" $1 }'
}
kcat_consume() { timeout "$step_timeout" kcat -b "$broker" -C -t "$1" -o beginning -e -q -Z -f '%k\t%s\t%h\n' | awk -F'\t' '{ if ($1 == "NULL") $1 = "\\N"; print $1 "\t" $2 "\t" $3 }'; }
kafka_python_consume() { timeout "$step_timeout" /usr/bin/python3 "$root/interop/python/client.py" consume "$1" "$2"; }
kafkajs_consume() { timeout "$step_timeout" node "$root/interop/node/kafkajs.mjs" consume "$1" "$2"; }
platformatic_consume() { timeout "$step_timeout" node "$root/interop/node/platformatic.mjs" consume "$1" "$2"; }

clients=(samsa console kcat kafka_python kafkajs platformatic)

# knows CLIENT VERB CODEC: what a client cannot do.
node_zstd=$(node -e 'console.log(typeof require("node:zlib").zstdCompressSync)' 2>/dev/null)
knows() {
  case "$1 $2 $3" in
  "kafkajs produce zstd") return 1 ;;
  platformatic*zstd) [ "$node_zstd" = function ] ;; # Node has zstd from version 22 on
  "platformatic consume snappy") return 1 ;;        # takes a block, not the xerial frames that all others write
  *) return 0 ;;
  esac
}

for codec in none gzip snappy lz4 zstd; do
  topic=matrix-$codec-$run_id
  "$samsa" topics create "$topic" --partitions 3 --bootstrap "$broker" >>"$log" 2>&1
  written=()
  for producer in "${clients[@]}"; do
    if ! knows "$producer" produce $codec; then skip "$producer cannot write $codec here"; continue; fi
    lines "$producer" >"$matrix/$producer.in"
    echo "=== $(date +%T) $producer writes $codec" >>"$log"
    if "${producer}_produce" $codec "$topic" <"$matrix/$producer.in" >>"$log" 2>&1; then ok "$producer writes $codec"; written+=("$producer")
    else bad "$producer writes $codec"; fi
  done
  for consumer in "${clients[@]}"; do
    if ! knows "$consumer" consume $codec; then skip "$consumer cannot read $codec here"; continue; fi
    echo "=== $(date +%T) $consumer reads $codec" >>"$log"
    "${consumer}_consume" "$topic" $((${#written[@]} * lines_per_producer)) >"$matrix/$consumer-$codec.out" 2>>"$log"
    for producer in "${written[@]}"; do
      sort "$matrix/$producer.in" >"$matrix/want"
      grep -F "	$producer: " "$matrix/$consumer-$codec.out" | sort >"$matrix/got"
      same "$producer to $consumer, $codec" "$matrix/want" "$matrix/got"
    done
  done
done
