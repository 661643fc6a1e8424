package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPerfStatsPrintsKafkasColumns checks lines and numbers against what kafka-producer-perf-test prints
// for the same latencies.
func TestPerfStatsPrintsKafkasColumns(t *testing.T) {
	var out strings.Builder
	start := time.Unix(1000, 0)
	stats := newPerfStats(&out, 100, time.Second, start)
	for i := range 100 {
		now := start.Add(time.Duration(i+1) * 20 * time.Millisecond)
		stats.record(now.Add(-time.Duration(i+1)*time.Millisecond), now, 1<<20)
	}
	stats.summary(start.Add(2 * time.Second))
	want := "50 records sent, 50.0 records/sec (50.00 MB/sec), 25.5 ms avg latency, 50.0 ms max latency.\n" +
		"50 records sent, 50.0 records/sec (50.00 MB/sec), 75.5 ms avg latency, 100.0 ms max latency.\n" +
		"100 records sent, 50.000000 records/sec (50.00 MB/sec), 50.50 ms avg latency, 100.00 ms max latency, 51 ms 50th, 96 ms 95th, 100 ms 99th, 100 ms 99.9th.\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestPerfStatsBoundsItsMemory(t *testing.T) {
	stats := newPerfStats(&strings.Builder{}, 10*maxSampledLatencies, 0, time.Unix(0, 0))
	if got := cap(stats.mu.sampled); got > maxSampledLatencies {
		t.Errorf("room for %d latencies", got)
	}
}

func TestPayloads(t *testing.T) {
	letters := regexp.MustCompile(`^[A-Z]{100}$`)
	source, err := (&payloadOptions{size: 100, seed: 1}).source()
	if err != nil {
		t.Fatal(err)
	}
	first, second := string(source.next()), string(source.next())
	if !letters.MatchString(first) || first == second || source.largest != 100 {
		t.Errorf("payloads %q and %q, largest %d", first, second, source.largest)
	}
	source, err = (&payloadOptions{size: -1, monotonic: true}).source()
	if err != nil || string(source.next()) != "0" || string(source.next()) != "1" {
		t.Errorf("monotonic payload: %v", err)
	}
	name := filepath.Join(t.TempDir(), "payload")
	writeFile(t, name, "a,bb,,ccc")
	source, err = (&payloadOptions{size: -1, file: name, delimiter: ","}).source()
	if err != nil || source.largest != 3 {
		t.Fatalf("file payload: %v", err)
	}
	for range 100 {
		if v := string(source.next()); v != "a" && v != "bb" && v != "ccc" {
			t.Fatalf("payload %q is not in the file", v)
		}
	}
}

func TestPayloadIsExactlyOneKind(t *testing.T) {
	for _, o := range []payloadOptions{{size: -1}, {size: 10, monotonic: true}, {size: 0}, {size: -1, file: "missing"}} {
		if _, err := o.source(); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func TestProducerProperties(t *testing.T) {
	if _, err := parseProperties([]string{"acks=1 linger.ms=3", "batch.size=10"}, producerPropertyNames()...); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"acks", "no.such.property=1"} {
		if _, err := parseProperties([]string{bad}, producerPropertyNames()...); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	for _, bad := range []clientProperties{{"acks": "2"}, {"linger.ms": "x"}, {"linger.ms": "-1"}, {"compression.type": "rar"}} {
		if _, err := producerOptions(bad, 100); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestPerfTime(t *testing.T) {
	if got := perfTime(time.Date(2026, 1, 2, 3, 4, 5, 67_000_000, time.UTC)); got != "2026-01-02 03:04:05:067" {
		t.Errorf("got %s", got)
	}
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
