package peer

import (
	"slices"
	"strings"
	"testing"
)

func TestSamsaAndKafkaGetTheSameSettings(t *testing.T) {
	l := &Launcher{Settings: map[string]string{"num.partitions": "3"}}
	all := l.settings(map[string]string{"log.segment.bytes": "1048576"})
	args := samsaCommand("samsa", "127.0.0.1:1", "/data", all)
	properties := kafkaProperties(1, 2, "/data", all)
	for _, want := range []string{"num.partitions=3", "log.segment.bytes=1048576", "group.initial.rebalance.delay.ms=0"} {
		if i := slices.Index(args, want); i < 1 || args[i-1] != "--set" {
			t.Errorf("samsa does not get %s: %q", want, args)
		}
		if !strings.Contains(properties, "\n"+want+"\n") {
			t.Errorf("kafka does not get %s: %s", want, properties)
		}
	}
}

func TestMissing(t *testing.T) {
	l := &Launcher{Binaries: map[Name]string{Samsa: "samsa"}}
	for n, want := range map[Name]string{Samsa: "", Minimum: "", NATS: "", Before: "no such revision", Kafka: "no jars"} {
		if got := l.Missing(n); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", n, got)
		}
	}
}

func TestPortsComeFromTheRange(t *testing.T) {
	l := &Launcher{FirstPort: 27900}
	a, err1 := l.port()
	b, err2 := l.port()
	if err1 != nil || err2 != nil || a <= 27900 || b <= a || b > 28900 {
		t.Errorf("%d, %d, %v, %v", a, b, err1, err2)
	}
}
