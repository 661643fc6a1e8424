# IBM's functional tests. They expect five brokers behind toxiproxy; Samsa is one node that every proxy leads to,
# under the five addresses that the suite knows. The one change to its sources: topics get one replica, not three.

module github.com/IBM/sarama || return 0
sed -i 's/ReplicationFactor: 3,/ReplicationFactor: 1,/' "$src"/functional*_test.go
{ GOBIN=$dir go install github.com/Shopify/toxiproxy/v2/cmd/server@v2.5.0 &&
  (cd "$src" && GOFLAGS=-mod=mod go test -c -tags functional -o "$dir/sarama.test" .); } >"$dir/setup" 2>&1 || return 0

listeners= advertised= protocols=
for i in 1 2 3 4 5; do
  listeners+=,B$i://127.0.0.1:$((29190 + i)) advertised+=,B$i://localhost:$((29090 + i)) protocols+=,B$i:PLAINTEXT
done
# The functional tests lie in files of their own; the module's unit tests need no broker.
functional=$(sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t .*/\1/p' "$src"/functional*_test.go | paste -sd'|')
broker --set auto.create.topics.enable=false --set listeners="${listeners#,}" --set advertised.listeners="${advertised#,}" --set listener.security.protocol.map="${protocols#,}" --set inter.broker.listener.name=B1 || return 0
"$dir/server" -host 127.0.0.1 -port 8474 >"$dir/toxiproxy.log" 2>&1 &
pids+=($!)
for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/8474) 2>/dev/null && break; sleep 0.05; done
for i in 1 2 3 4 5; do
  curl -sf -X POST -d "{\"name\":\"kafka$i\",\"listen\":\"127.0.0.1:$((29090 + i))\",\"upstream\":\"127.0.0.1:$((29190 + i))\"}" http://127.0.0.1:8474/proxies >>"$dir/setup" || return 0
done
# Some tests stop brokers or read their logs with docker compose. The logs are to be had; the only node is not stopped.
mkdir "$dir/bin"
cat >"$dir/bin/docker" <<SCRIPT
#!/bin/sh
case "\$*" in "compose logs"*) exec cat "$dir/broker.log" ;; esac
echo "there is one node only: \$*" >&2
exit 1
SCRIPT
chmod +x "$dir/bin/docker"
run "$src" env PATH="$dir/bin:$PATH" TOXIPROXY_ADDR=http://127.0.0.1:8474 KAFKA_VERSION=4.0.0 "$dir/sarama.test" -test.timeout 15m -test.v -test.run "^($functional)\$"
