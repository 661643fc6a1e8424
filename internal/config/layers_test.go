package config

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

func load(t *testing.T, props map[string]string) *Static {
	t.Helper()
	s, _, err := Load(props)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestZeroLayersAreKafkasDefaults(t *testing.T) {
	var l Layers
	if got := l.TopicConfig(nil); got != storage.DefaultConfig() {
		t.Errorf("%+v\nwant %+v", got, storage.DefaultConfig())
	}
	if l.Int("num.partitions") != 1 || !l.Bool("auto.create.topics.enable") || l.Int64("log.retention.check.interval.ms") != 300000 ||
		l.String("compression.type") != "producer" || l.Float("log.cleaner.min.cleanable.ratio") != 0.5 || l.List("group.consumer.assignors")[1] != "range" {
		t.Error("a default is wrong")
	}
	if l.Duration("connections.max.idle.ms") != 10*time.Minute || l.Duration("log.flush.scheduler.interval.ms") != math.MaxInt64 {
		t.Error("a duration is wrong")
	}
	if l.Has("log.retention.ms") || !l.Has("log.retention.hours") || l.Has("no.such") || l.IsSet("log.retention.hours") {
		t.Error("Has or IsSet is wrong")
	}
}

func TestLayersInTheirOrder(t *testing.T) {
	l := Layers{Static: load(t, map[string]string{"log.cleaner.threads": "2", "num.partitions": "7"})}
	steps := []struct {
		broker, cluster map[string]string
		want            int
	}{
		{nil, nil, 2},
		{nil, map[string]string{"log.cleaner.threads": "3"}, 3},
		{map[string]string{"log.cleaner.threads": "4"}, map[string]string{"log.cleaner.threads": "3"}, 4},
		{map[string]string{"log.cleaner.threads": "many"}, map[string]string{"log.cleaner.threads": "3"}, 3}, // CFG-3
	}
	for _, s := range steps {
		l.Broker, l.Cluster = s.broker, s.cluster
		if got := l.Int("log.cleaner.threads"); got != s.want {
			t.Errorf("%v %v: %d, want %d", s.broker, s.cluster, got, s.want)
		}
	}
	// CFG-2
	l.Broker = map[string]string{"num.partitions": "9"}
	l.Cluster = map[string]string{"cordoned.log.dirs": "*"}
	if l.Int("num.partitions") != 7 || len(l.List("cordoned.log.dirs")) != 0 {
		t.Error("a key took a value from where it may not")
	}
}

func TestAskingForAnUnknownKeyIsABug(t *testing.T) {
	for name, ask := range map[string]func(){
		"unknown":    func() { Layers{}.Int("no.such") },
		"wrong type": func() { Layers{}.Bool("num.partitions") },
		"group":      func() { Layers{}.GroupInt("no.such", nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			ask()
		}()
	}
}

// T-09: what was set on a topic outlives every change of the broker's keys, in whatever unit.
func TestT09TopicOverrideWins(t *testing.T) {
	topic := map[string]string{"retention.ms": "-1", "cleanup.policy": "compact"}
	l := Layers{}
	for _, key := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		l.Static = load(t, map[string]string{key: "1"})
		for _, dynamic := range []map[string]string{nil, {"log.retention.ms": "3600000", "log.cleanup.policy": "delete"}} {
			l.Broker, l.Cluster = dynamic, dynamic
			c := l.TopicConfig(topic)
			if c.RetentionMs != -1 || !c.CleanupCompact || c.CleanupDelete {
				t.Errorf("%s with %v: retention %d, compact %v, delete %v", key, dynamic, c.RetentionMs, c.CleanupCompact, c.CleanupDelete)
			}
			for _, e := range l.DescribeTopic(topic) {
				if e.Name == "retention.ms" && (*e.Value != "-1" || e.Source != SourceTopic || *e.Synonyms[0].Value != "-1") {
					t.Errorf("%s with %v: described %+v", key, dynamic, e)
				}
			}
		}
	}
	// The units of the broker's keys cannot be changed while it runs, so they cannot surprise anybody.
	for _, key := range []string{"log.retention.minutes", "log.retention.hours"} {
		if ValidateBroker(Layers{}, false, map[string]string{key: "1"}) == nil {
			t.Errorf("%s may be changed while the broker runs", key)
		}
	}
}

func TestRetentionUnits(t *testing.T) {
	for _, c := range []struct {
		props map[string]string
		want  int64
	}{
		{nil, 604800000},
		{map[string]string{"log.retention.hours": "5"}, 18000000},
		{map[string]string{"log.retention.hours": "5", "log.retention.minutes": "2"}, 120000},
		{map[string]string{"log.retention.hours": "5", "log.retention.minutes": "2", "log.retention.ms": "3"}, 3},
		{map[string]string{"log.retention.hours": "-1"}, -1},
		{map[string]string{"log.retention.minutes": "-1"}, -1},
		{map[string]string{"log.retention.ms": "-5"}, -1},
		{map[string]string{"log.retention.hours": "2147483647"}, 2147483647 * 3600000},
	} {
		if got := (Layers{Static: load(t, c.props)}).TopicConfig(nil).RetentionMs; got != c.want {
			t.Errorf("%v: %d, want %d", c.props, got, c.want)
		}
	}
	l := Layers{Static: load(t, map[string]string{"log.roll.hours": "1", "log.roll.jitter.hours": "1", "log.flush.scheduler.interval.ms": "60000"})}
	if c := l.TopicConfig(nil); c.SegmentMs != 3600000 || c.SegmentJitterMs != 3600000 || c.FlushMs != 60000 {
		t.Errorf("%+v", c)
	}
}

// Each topic key reaches the log, from the topic and from the broker key behind it.
func TestTopicConfigTakesEveryKey(t *testing.T) {
	want := storage.Config{
		SegmentBytes: 2000000, SegmentMs: 11, SegmentJitterMs: 12, RetentionBytes: 13, RetentionMs: 14, IndexIntervalBytes: 15, SegmentIndexBytes: 16,
		FlushMessages: 17, FlushMs: 18, MaxMessageBytes: 19, MaxDecompressedMessageBytes: 20, CleanupCompact: true, CleanupDelete: true,
		CompressionType: "zstd", GzipLevel: 1, LZ4Level: 2, ZstdLevel: 4, TimestampType: record.LogAppendTime, TimestampBeforeMaxMs: 21, TimestampAfterMaxMs: 22,
		FileDeleteDelayMs: 23, DeleteRetentionMs: 24, MinCompactionLagMs: 25, MaxCompactionLagMs: 26, MinCleanableDirtyRatio: 0.25, MinInsyncReplicas: 2,
		Preallocate: true, UncleanLeaderElection: true,
	}
	topic := map[string]string{
		"segment.bytes": "2000000", "segment.ms": "11", "segment.jitter.ms": "12", "retention.bytes": "13", "retention.ms": "14", "index.interval.bytes": "15",
		"segment.index.bytes": "16", "flush.messages": "17", "flush.ms": "18", "max.message.bytes": "19", "max.decompressed.message.bytes": "20",
		"cleanup.policy": "compact,delete", "compression.type": "zstd", "compression.gzip.level": "1", "compression.lz4.level": "2", "compression.zstd.level": "4",
		"message.timestamp.type": "LogAppendTime", "message.timestamp.before.max.ms": "21", "message.timestamp.after.max.ms": "22", "file.delete.delay.ms": "23",
		"delete.retention.ms": "24", "min.compaction.lag.ms": "25", "max.compaction.lag.ms": "26", "min.cleanable.dirty.ratio": "0.25", "min.insync.replicas": "2",
		"preallocate": "true", "unclean.leader.election.enable": "true",
	}
	if got := (Layers{}).TopicConfig(topic); got != want {
		t.Errorf("topic:  %+v\nwant:   %+v", got, want)
	}
	broker := map[string]string{}
	for key, value := range topic {
		broker[topicSource(key)[0].name] = value
	}
	if err := ValidateBroker(Layers{}, true, broker); err != nil {
		t.Error(err)
	}
	if got := (Layers{Broker: broker}).TopicConfig(nil); got != want {
		t.Errorf("broker: %+v\nwant:   %+v", got, want)
	}
	if got := (Layers{}).TopicConfig(map[string]string{"internal.segment.bytes": "100", "segment.bytes": "2000000"}).SegmentBytes; got != 100 {
		t.Errorf("internal.segment.bytes: %d", got)
	}
}

func TestLoadWarnsAndRefuses(t *testing.T) {
	_, warnings, err := Load(map[string]string{
		"log.message.format.version": "2.8", "zookeeper.connect": "z:2181", "no.such": "1",
		"listener.name.plaintext.max.connections": "5", "num.partitions": "3",
	})
	if err != nil || len(warnings) != 3 {
		t.Fatalf("%v %v", warnings, err)
	}
	for i, part := range []string{"written in format version 2", "not a known configuration", "without ZooKeeper"} {
		if !strings.Contains(warnings[i].Text, part) || !strings.Contains(warnings[i].Text, warnings[i].Key) {
			t.Errorf("warning %d: %v", i, warnings[i])
		}
	}
	_, _, err = Load(map[string]string{"num.partitions": "0", "listener.name.plaintext.max.connections": "x", "log.segment.bytes": "14"})
	for _, part := range []string{"num.partitions", "listener.name.plaintext.max.connections", "log.segment.bytes", "at least 1048576"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in %v", part, err)
		}
	}
	for key, value := range map[string]string{
		"authorizer.class.name": "A", "create.topic.policy.class.name": "P", "alter.config.policy.class.name": "P", "client.quota.callback.class": "Q",
		"principal.builder.class": "B", "config.providers": "file", "process.roles": "broker", "controller.quorum.voters": "2@h:1", "remote.log.storage.system.enable": "true",
	} {
		if _, _, err := Load(map[string]string{key: value, "node.id": "1"}); err == nil || !strings.Contains(err.Error(), "not supported yet") || !strings.Contains(err.Error(), key) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}

func TestNodeIDHasTwoNames(t *testing.T) {
	for _, key := range []string{"node.id", "broker.id"} {
		l := Layers{Static: load(t, map[string]string{key: "5"})}
		if l.Int("node.id") != 5 || l.Int("broker.id") != 5 {
			t.Errorf("%s: %d %d", key, l.Int("node.id"), l.Int("broker.id"))
		}
	}
}

func TestEnvironment(t *testing.T) {
	got := FromEnvironment([]string{"SAMSA_LOG_RETENTION_MS=5=6", "SAMSA_NOTHING=1", "LOG_RETENTION_MS=7", "SAMSA_LISTENER_NAME_A__B_MAX_CONNECTIONS=8", "SAMSA_"})
	if len(got) != 2 || got["log.retention.ms"] != "5=6" || got["listener.name.a_b.max.connections"] != "8" {
		t.Errorf("%v", got)
	}
	if m := Merge(map[string]string{"a": "1", "b": "1"}, nil, map[string]string{"b": "2"}); m["a"] != "1" || m["b"] != "2" || len(m) != 2 {
		t.Errorf("%v", m)
	}
}

func TestListeners(t *testing.T) {
	l := Layers{Static: load(t, map[string]string{
		"listeners":                      "INSIDE://[::1]:9092,outside://:9094,CONTROLLER://127.0.0.1:9093",
		"advertised.listeners":           "INSIDE://:9092,OUTSIDE://kafka.example:19094",
		"listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"controller.listener.names":      "CONTROLLER", "inter.broker.listener.name": "INSIDE",
	})}
	got, err := l.Listeners("me")
	if err != nil {
		t.Fatal(err)
	}
	text := func(list []Endpoint) string {
		var s []string
		for _, e := range list {
			s = append(s, e.String())
		}
		return strings.Join(s, " ")
	}
	if text(got.Bind) != "INSIDE://[::1]:9092 OUTSIDE://:9094" || text(got.Controller) != "CONTROLLER://127.0.0.1:9093" ||
		text(got.Advertised) != "INSIDE://me:9092 OUTSIDE://kafka.example:19094" || got.InterBroker != "INSIDE" {
		t.Errorf("%+v", got)
	}
	def, err := Layers{}.Listeners("me")
	if err != nil || text(def.Bind) != "PLAINTEXT://:9092" || text(def.Advertised) != "PLAINTEXT://me:9092" || def.InterBroker != "PLAINTEXT" {
		t.Errorf("%+v %v", def, err)
	}
	for props, part := range map[string]string{
		"SSL://:9092":                     "not supported yet",
		"PLAINTEXT://a:1,SASL_SSL://:9":   "not supported yet",
		"FOO://:9092":                     "no security protocol",
		"PLAINTEXT:9092":                  "NAME://host:port",
		"PLAINTEXT://a/b:1":               "not a host",
		"PLAINTEXT://:99999":              "not a port",
		"PLAINTEXT://0.0.0.0:9092":        "set advertised.listeners",
		"PLAINTEXT://:1,PLAINTEXT://:2":   "stands twice",
		"PLAINTEXT://1.1.1.1:1,SSL://b:1": "different ports",
	} {
		if _, _, err := Load(map[string]string{"listeners": props}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %q", props, err, part)
		}
	}
	if got := (Layers{Static: load(t, map[string]string{"max.connections.per.ip.overrides": "::1:5, h:6"})}).ConnectionsPerIPOverrides(); got["::1"] != 5 || got["h"] != 6 {
		t.Errorf("%v", got)
	}
	if dirs := (Layers{Static: load(t, map[string]string{"log.dirs": "/a, /b"})}).LogDirs(); len(dirs) != 2 || dirs[1] != "/b" {
		t.Errorf("%v", dirs)
	}
	if dirs := (Layers{}).LogDirs(); len(dirs) != 1 || dirs[0] != "/tmp/kafka-logs" {
		t.Errorf("%v", dirs)
	}
}

// The file that a single Kafka node is usually started with is taken as it is.
func TestTheUsualFile(t *testing.T) {
	props, err := ParseProperties(strings.NewReader(`
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`))
	if err != nil {
		t.Fatal(err)
	}
	s, warnings, err := Load(props)
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	l, err := Layers{Static: s}.Listeners("me")
	if err != nil || len(l.Advertised) != 1 || l.Advertised[0].String() != "PLAINTEXT://localhost:9092" || len(l.Bind) != 1 || len(l.Controller) != 1 {
		t.Errorf("%+v %v", l, err)
	}
}
