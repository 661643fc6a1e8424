package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// line writes an entry as the recordings below do: name=value src ro sens type (synonym value src)….
func line(e Entry) string {
	text := func(s *string) string {
		if s == nil {
			return "null"
		}
		return fmt.Sprintf("%q", *s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%s src=%d ro=%v sens=%v type=%d", e.Name, text(e.Value), e.Source, e.ReadOnly, e.Sensitive, e.Type)
	for _, s := range e.Synonyms {
		fmt.Fprintf(&b, " (%s %s %d)", s.Name, text(s.Value), s.Source)
	}
	return b.String()
}

func expect(t *testing.T, entries []Entry, want ...string) {
	t.Helper()
	for _, w := range want {
		name, _, _ := strings.Cut(w, "=")
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
		if i < 0 {
			t.Errorf("%s is missing", name)
		} else if got := line(entries[i]); got != w {
			t.Errorf("\n got %s\nwant %s", got, w)
		}
	}
}

// The lines were recorded from a Kafka 4.4.0 broker with the same file and changes.
func TestDescribedAsKafkaDoes(t *testing.T) {
	static := load(t, map[string]string{
		"node.id": "1", "log.retention.hours": "5", "unknown.key": "7", "listener.name.plaintext.max.connections": "50",
		"log.roll.ms": "100000", "log.flush.scheduler.interval.ms": "60000", "zookeeper.connect": "x", "group.initial.rebalance.delay.ms": "0",
	})
	l := Layers{Static: static}
	expect(t, l.DescribeTopic(nil),
		`retention.ms="18000000" src=5 ro=false sens=false type=5`,
		`segment.ms="100000" src=4 ro=false sens=false type=5 (log.roll.ms "100000" 4) (log.roll.hours "168" 5)`,
		`flush.ms="60000" src=5 ro=false sens=false type=5`,
		`segment.jitter.ms="0" src=5 ro=false sens=false type=5`)
	if n := len(l.DescribeBroker()); n != 353 {
		t.Errorf("%d broker entries, want 353", n)
	}
	expect(t, l.DescribeBroker(),
		`listener.name.plaintext.max.connections="50" src=4 ro=true sens=false type=3 (listener.name.plaintext.max.connections "50" 4) (max.connections "2147483647" 5)`,
		`unknown.key=null src=4 ro=true sens=true type=0 (unknown.key null 4)`,
		`zookeeper.connect=null src=4 ro=true sens=true type=0 (zookeeper.connect null 4)`,
		`log.retention.hours="5" src=4 ro=true sens=false type=3 (log.retention.hours "5" 4) (log.retention.hours "168" 5)`,
		`log.retention.minutes=null src=5 ro=true sens=false type=3`,
		`log.retention.ms=null src=5 ro=false sens=false type=5`,
		`log.roll.ms="100000" src=4 ro=false sens=false type=5 (log.roll.ms "100000" 4) (log.roll.hours "168" 5)`,
		`log.roll.hours="168" src=5 ro=true sens=false type=3 (log.roll.hours "168" 5)`,
		`log.flush.interval.ms=null src=5 ro=false sens=false type=5`,
		`broker.id="1" src=4 ro=true sens=false type=3 (broker.id "1" 4) (broker.id "-1" 5)`,
		`node.id="1" src=4 ro=true sens=false type=3 (node.id "1" 4)`,
		`group.initial.rebalance.delay.ms="0" src=4 ro=true sens=false type=3 (group.initial.rebalance.delay.ms "0" 4) (group.initial.rebalance.delay.ms "3000" 5)`,
		`sasl.jaas.config=null src=5 ro=false sens=true type=9`)

	l.Broker = map[string]string{
		"custom.key": "5", "listener.name.plaintext.max.connections": "40", "group.consumer.assignor.offload.enable": "false",
		"leader.replication.throttled.rate": "1000", "log.cleanup.policy": "compact",
	}
	l.Cluster = map[string]string{"custom.key2": "6", "min.insync.replicas": "1"}
	expect(t, l.DescribeBroker(),
		`custom.key=null src=2 ro=true sens=true type=0 (custom.key null 2)`,
		`custom.key2=null src=3 ro=true sens=true type=0 (custom.key2 null 3)`,
		`group.consumer.assignor.offload.enable="false" src=2 ro=false sens=false type=1 (group.consumer.assignor.offload.enable "false" 2) (group.consumer.assignor.offload.enable "true" 5)`,
		`leader.replication.throttled.rate="1000" src=2 ro=false sens=false type=5 (leader.replication.throttled.rate "1000" 2)`,
		`listener.name.plaintext.max.connections="40" src=2 ro=true sens=false type=3 (listener.name.plaintext.max.connections "40" 2) (listener.name.plaintext.max.connections "50" 4) (max.connections "2147483647" 5)`,
		`log.cleanup.policy="compact" src=2 ro=false sens=false type=7 (log.cleanup.policy "compact" 2) (log.cleanup.policy "delete" 5)`,
		`min.insync.replicas="1" src=3 ro=false sens=false type=3 (min.insync.replicas "1" 3) (min.insync.replicas "1" 5)`)
	defaults := l.DescribeCluster()
	if len(defaults) != 2 {
		t.Errorf("%d defaults of all brokers", len(defaults))
	}
	expect(t, defaults,
		`custom.key2=null src=3 ro=true sens=true type=0 (custom.key2 null 3)`,
		`min.insync.replicas="1" src=3 ro=false sens=false type=3 (min.insync.replicas "1" 3)`)
	expect(t, l.DescribeTopic(map[string]string{"cleanup.policy": "", "internal.segment.bytes": "10000", "retention.ms": "77"}),
		`cleanup.policy="" src=1 ro=false sens=false type=7 (cleanup.policy "" 1) (log.cleanup.policy "compact" 2) (log.cleanup.policy "delete" 5)`,
		`internal.segment.bytes="10000" src=1 ro=false sens=false type=3 (internal.segment.bytes "10000" 1)`,
		`retention.ms="77" src=1 ro=false sens=false type=5 (retention.ms "77" 1)`)
	l = Layers{Cluster: map[string]string{"log.retention.ms": "777000000"}}
	expect(t, l.DescribeTopic(nil), `retention.ms="777000000" src=3 ro=false sens=false type=5 (log.retention.ms "777000000" 3) (log.retention.hours "168" 5)`)
	expect(t, l.DescribeBroker(), `log.retention.ms="777000000" src=3 ro=false sens=false type=5 (log.retention.ms "777000000" 3) (log.retention.hours "168" 5)`)
	expect(t, l.DescribeGroup(map[string]string{"consumer.session.timeout.ms": "50000"}),
		`consumer.session.timeout.ms="50000" src=8 ro=false sens=false type=3 (consumer.session.timeout.ms "50000" 8) (group.consumer.session.timeout.ms "45000" 5)`,
		`streams.assignor.name="sticky" src=5 ro=false sens=false type=2 (group.streams.assignors "sticky" 5)`,
		`errors.deadletterqueue.topic.name="" src=5 ro=false sens=false type=2 (errors.deadletterqueue.topic.name "" 5)`)
	expect(t, l.DescribeClientMetrics(map[string]string{"interval.ms": "1000"}),
		`interval.ms="1000" src=7 ro=false sens=false type=3 (interval.ms "1000" 7)`,
		`match="" src=5 ro=false sens=false type=7`)
	// CFG-4, for names that another version stored
	expect(t, l.DescribeTopic(map[string]string{"message.format.version": "3.0"}), `message.format.version=null src=1 ro=false sens=true type=0 (message.format.version null 1)`)
}

// What Kafka 4.4.0 answers to changes of broker configs; "" is accepted, else a part of our refusal.
func TestValidateBroker(t *testing.T) {
	l := Layers{Static: load(t, map[string]string{"node.id": "1"})}
	for _, c := range []struct{ broker, key, value, want string }{
		{"1", "log.cleaner.threads", "2", ""},
		{"1", "log.cleaner.threads", "x", "not a number"},
		{"1", "log.cleaner.threads", "100", "double"},
		{"1", "log.cleaner.threads", "0", "at least 1"},
		{"1", "num.io.threads", "16", ""},
		{"1", "num.io.threads", "17", "double"},
		{"1", "num.io.threads", "3", "half"},
		{"1", "num.partitions", "3", "cannot be changed while the broker runs"},
		{"1", "log.retention.hours", "3", "cannot be changed while the broker runs"},
		{"1", "no.such", "3", ""},
		{"", "no.such", "3", ""},
		{"", "listeners", "PLAINTEXT://:1", "a broker id is needed"},
		{"", "ssl.client.auth", "none", "a broker id is needed"},
		{"", "cordoned.log.dirs", "*", "a broker id is needed"},
		{"", "listener.name.x.ssl.client.auth", "none", "a broker id is needed"},
		{"", "listener.name.x.max.connections", "5", ""},
		{"1", "listener.name.x.max.connections", "y", "listener.name.x.max.connections"},
		{"1", "ssl.keystore.location", "/x", "prefix"},
		{"1", "listener.name.x.ssl.keystore.location", "/x", ""},
		{"1", "log.retention.ms", "0", "unlimited"},
		{"1", "log.retention.ms", "-5", ""},
		{"1", "cordoned.log.dirs", "/nope", "not one of the log directories"},
		{"1", "cordoned.log.dirs", "*", ""},
		{"1", "log.cleaner.dedupe.buffer.size", "5", "1 MiB"},
		{"1", "listeners", "PLAINTEXT://:9092", ""},
		{"1", "listeners", "PLAINTEXT://:9095", "yet"},
		{"1", "metric.reporters", "nope", "Java"},
		{"1", "group.consumer.assignment.interval.ms", "20000", "group.consumer.max.assignment.interval.ms"},
	} {
		err := ValidateBroker(l, c.broker != "", map[string]string{c.key: c.value})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q %s=%s: %v, want %q", c.broker, c.key, c.value, err, c.want)
		}
	}
}

func TestValidateClientMetrics(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"interval.ms", "100", ""},
		{"interval.ms", "99", "at least 100"},
		{"interval.ms", "x", "not a number"},
		{"no.such", "1", "unknown config name"},
		{"match", "client_id=x,client_software_name=java.*", ""},
		{"match", "color=x", "selectors are"},
		{"match", "client_id", "selector=pattern"},
		{"match", "client_id=", "selector=pattern"},
		{"match", "client_id=[", "regular expression"},
		{"metrics", "a.,b.", ""},
	} {
		err := ValidateClientMetrics(map[string]string{c.key: c.value})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.want)
		}
	}
}
