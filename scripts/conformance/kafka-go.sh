# segmentio's tests, which dial localhost:9092 and expect brokers to call themselves localhost.

module github.com/segmentio/kafka-go || return 0
(cd "$src" && GOFLAGS=-mod=mod go test -c -o "$dir/kafka-go.test" .) >"$dir/setup" 2>&1 || return 0
broker --listen 127.0.0.1:9092 --set advertised.listeners=PLAINTEXT://localhost:9092 --set auto.create.topics.enable=true --set message.max.bytes=200000000 || return 0
# Left out are three that look at committed offsets: a helper of theirs (getOffsets) makes a ConsumerGroup without its
# connect function and calls that, which ends the whole run, with any broker.
run "$src" env KAFKA_SKIP_NETTEST=1 KAFKA_VERSION=3.7.0 "$dir/kafka-go.test" -test.timeout 15m -test.v -test.skip '^TestReaderConsumerGroup$/^(consumer_group_commits_on_close|verify_offset_committed.*)$'
