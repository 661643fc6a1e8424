# Installs what the other parts need, and says so. What is there already is left alone.

# debian PACKAGE…: installs Debian packages that are missing.
debian() {
  local missing=() p
  for p in "$@"; do dpkg -s "$p" >/dev/null 2>&1 || missing+=("$p"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "  installing Debian packages: ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${missing[@]}" >>"$log" 2>&1 && return 0
  apt-get update -q >>"$log" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${missing[@]}" >>"$log" 2>&1
}

maven_jars() {
  # What was fetched by an older pom may lack what this one asks for.
  cmp -s "$root/interop/kafka/pom.xml" "$jars/.complete" && return 0
  echo "  fetching Apache Kafka 4.4.0 from Maven into ${jars/#$HOME/\~}"
  rm -rf "$jars"
  mvn -q -B -f "$root/interop/kafka/pom.xml" dependency:copy-dependencies -DoutputDirectory="$jars" >>"$log" 2>&1 && cp "$root/interop/kafka/pom.xml" "$jars/.complete"
}

npm_packages() {
  mkdir -p "$node_dir"
  cmp -s "$root/interop/node/package.json" "$node_dir/package.json" && [ -d "$node_dir/node_modules/kafkajs" ] && return 0
  echo "  installing npm packages kafkajs and @platformatic/kafka into ${node_dir/#$HOME/\~}"
  cp "$root/interop/node/package.json" "$node_dir/package.json"
  (cd "$node_dir" && npm install --no-audit --no-fund --loglevel=error >>"$log" 2>&1) || { rm -f "$node_dir/package.json"; return 1; }
}

command -v kcat >/dev/null && /usr/bin/python3 -c 'import kafka, snappy, lz4, zstandard' 2>/dev/null ||
  debian kcat python3-kafka python3-snappy python3-lz4 python3-zstandard
command -v javac >/dev/null && command -v mvn >/dev/null || debian default-jdk-headless maven
command -v node >/dev/null && command -v npm >/dev/null || debian nodejs npm
if command -v kcat >/dev/null; then ok kcat; else bad "kcat is missing"; fi
if /usr/bin/python3 -c 'import kafka, snappy, lz4, zstandard' 2>>"$log"; then ok kafka-python; else bad "kafka-python is missing"; fi
if maven_jars; then ok "Apache Kafka 4.4.0"; else bad "Apache Kafka's jars cannot be fetched"; fi
if npm_packages; then ok "kafkajs, @platformatic/kafka"; else bad "npm packages cannot be installed"; fi
