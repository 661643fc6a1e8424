# What the suites of conformance.sh share: fetching sources, starting a broker, counting and judging.

out=$root/build/conformance
samsa=$root/bin/samsa
status=0
pids=()
cache=${XDG_CACHE_HOME:-$HOME/.cache}/samsa-conformance
mkdir -p "$out" "$cache"

begin() { dir=$out/$suite log=$out/$suite/log src=$cache/$suite suite_start=$SECONDS finished=; rm -rf "$dir"; mkdir -p "$dir"; : >"$log"; }

# module PATH copies the sources of a Go module to $src, outside of the tree, so that no check of ours looks at them.
# The version is the one interop/ tests with, so that there is one place to raise it.
module() {
  local from
  (cd "$root/interop" && go mod download "$1") >>"$dir/setup" 2>&1
  from=$(cd "$root/interop" && go list -m -f '{{.Dir}}' "$1") || return 1
  rm -rf "$src" && cp -r "$from" "$src" && chmod -R u+w "$src"
}

# broker FLAG… starts samsa over a fresh directory and waits until it serves.
broker() {
  local i
  "$samsa" serve --dir "$dir/data" --set group.initial.rebalance.delay.ms=0 "$@" 2>"$dir/broker.log" &
  pids+=($!)
  for i in $(seq 200); do
    address=$(sed -n 's/.*msg=serving address=\([^ ]*\).*/\1/p' "$dir/broker.log" | tail -n 1)
    [ -n "$address" ] && return 0
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.05
  done
  echo "  $suite: samsa did not start:" >&2; tail -n 5 "$dir/broker.log" >&2
  return 1
}

# run COMMAND… runs a suite's test binary, whose last line says whether it came to its end.
run() {
  (cd "$1" && shift && "$@") >>"$log" 2>&1
  # Some suites write to their standard output without a newline, so that the verdict may stand in a line's middle.
  if grep -qE '^(PASS|FAIL)$' "$log" && ! grep -qE '^panic: |^fatal error: ' "$log"; then finished=1; fi
}

# results VERDICT: the names of all tests, subtests too, with that verdict.
results() { grep -oE -- "--- $1: [^ ]+ \([0-9.]+s\)" "$log" | awk '{ print $3 }' | sort -u; }

# judge prints the counts of a suite and every failure without an explanation. A test whose subtest failed is not
# counted itself. An explanation is a name, a tab and a reason; it holds for the subtests too.
judge() {
  local name reason unexplained=0
  results PASS >"$dir/passed"; results SKIP >"$dir/skipped"; results FAIL >"$dir/all-failed"
  awk '{ name[NR] = $1 } END { for (i = 1; i <= NR; i++) { leaf = 1; for (j = 1; j <= NR; j++) if (index(name[j], name[i] "/") == 1) leaf = 0; if (leaf) print name[i] } }' "$dir/all-failed" >"$dir/failed"
  while read -r name; do
    reason=$(awk -F'\t' -v n="$name" '/^[^#]/ && (n == $1 || index(n, $1 "/") == 1) { print $2; exit }' "$here/conformance/explained/$suite")
    if [ -n "$reason" ]; then echo "  $suite: explained: $name: $reason"; else unexplained=$((unexplained + 1)); echo "  $suite: FAILED: $name (see build/conformance/$suite/log)" >&2; fi
  done <"$dir/failed"
  if [ -z "$finished" ]; then unexplained=$((unexplained + 1)); echo "  $suite: did not come to its end: $(tail -n 1 "$dir/setup" 2>/dev/null)" >&2; fi
  [ -s "$dir/passed" ] || { unexplained=$((unexplained + 1)); echo "  $suite: no test passed" >&2; }
  echo "$suite: $(wc -l <"$dir/passed") passed, $(wc -l <"$dir/failed") failed, $unexplained of them without an explanation, $(wc -l <"$dir/skipped") skipped ($((SECONDS - suite_start)) s)"
  [ $unexplained -eq 0 ] || status=1
}

stop_all() { local p; for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done; wait 2>/dev/null; pids=(); }
