package rows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/bench/row"
)

func TestParsePerfProduce(t *testing.T) {
	out := "37432 records sent, 7320.9 records/sec (0.70 MB/sec), 1455.6 ms avg latency, 2631.0 ms max latency.\n" +
		"300000 records sent, 28074.115665 records/sec (2.68 MB/sec), 4101.60 ms avg latency, 5219.00 ms max latency, 4558 ms 50th, 5176 ms 95th, 5211 ms 99th, 5218 ms 99.9th.\n"
	if got, err := parsePerfProduce(out); err != nil || got != (perfProduce{300000, 28074.115665, 4558, 5211}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parsePerfProduce("37432 records sent, 7320.9 records/sec"); err == nil {
		t.Error("a run without a summary was accepted")
	}
}

func TestParsePerfConsume(t *testing.T) {
	out := "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n" +
		"2026-11-30 02:01:41:604, 2026-11-30 02:01:43:072, 28.6102, 19.4893, 300000, 204359.6730, 638, 830, 34.4702, 361445.7831\n"
	if got, err := parsePerfConsume(out); err != nil || got != (perfConsume{300000, 361445.7831}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{strings.SplitAfter(out, "\n")[0], strings.Replace(out, "300000,", "x,", 1)} {
		if _, err := parsePerfConsume(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// The two summaries are those of librdkafka 2.0.2.
func TestParseRdkafka(t *testing.T) {
	produced := "% 12000 messages produced (12288000 bytes), 0 delivered (offset 0, 0 failed) in 500ms: 1 msgs/s and 12.00 MB/s, 0 produce failures, 12000 in queue, no compression\n" +
		"% 12000 messages produced (12288000 bytes), 12000 delivered (offset 11999, 0 failed) in 1032ms: 11619 msgs/s and 11.90 MB/s, 0 produce failures, 0 in queue, no compression\n"
	if got, err := parseRdkafka(produced, "produced", 12000); err != nil || got != 11619 {
		t.Errorf("%v, %v", got, err)
	}
	consumed := "% 12000 messages (12288000 bytes) consumed in 10ms: 1200000 msgs/s (1228.80 MB/s)\n"
	if got, err := parseRdkafka(consumed, "consumed", 12000); err != nil || got != 1200000 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseRdkafka(consumed, "consumed", 12001); err == nil {
		t.Error("too few were accepted")
	}
	if _, err := parseRdkafka("", "consumed", 1); err == nil {
		t.Error("nothing was accepted")
	}
}

func TestParseGoBench(t *testing.T) {
	out := "goos: linux\nBenchmarkLookup/262144/tail/samsa-2 \t 1000 \t 56.10 ns/op \t 0 B/op \t 0 allocs/op\nBenchmarkPagesTouched/13/samsa-2  1  9000 ns/op  2.000 pages\n" +
		"BenchmarkStalls/samsa-2  10  1100000 ns/op  70.0 late-p50-us 900 late-p99-us 12000 lookups/s\nPASS\nok  \tx\t1.2s\n"
	got := map[string]float64{}
	for _, v := range parseGoBench(out) {
		got[v.Name] = v.Value
	}
	want := map[string]float64{"Lookup/262144/tail/samsa ns/op": 56.1, "PagesTouched/13/samsa ns/op": 9000, "PagesTouched/13/samsa pages": 2,
		"Stalls/samsa late-p50-us": 70, "Stalls/samsa late-p99-us": 900, "Stalls/samsa lookups/s": 12000}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %v, wanted %v", k, got[k], v)
		}
	}
}

func TestCleaned(t *testing.T) {
	text := "0\n2\nother 0 7\ncompaction-1 0 390000\n"
	if got := cleaned(text, "compaction-1 0"); got != 390000 {
		t.Error(got)
	}
	if got := cleaned(text, "compaction-1 1"); got != -1 {
		t.Error(got)
	}
}

func TestClosedSegments(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"00000000000000000000.log": 10, "00000000000000000005.log": 20, "00000000000000000009.log": 40, "00000000000000000009.index": 8} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if bytes, active, err := closedSegments(dir); err != nil || bytes != 30 || active != 9 {
		t.Errorf("%d, %d, %v", bytes, active, err)
	}
	if n, err := fileSize(dir, 9); err != nil || n != 40 {
		t.Errorf("%d, %v", n, err)
	}
	if _, _, err := closedSegments(t.TempDir()); err == nil {
		t.Error("an empty directory was accepted")
	}
}

func TestMemoryGrowth(t *testing.T) {
	memory := []float64{30, 33}
	values, err := growth(t.Context(), row.Turn{Bench: &row.Bench{Scale: 1}}, func() (float64, error) {
		m := memory[0]
		memory = memory[1:]
		return m, nil
	}, func(time.Duration) error { return nil }, time.Minute)
	if err != nil || values[0].Value != 33 || values[1].Value != 3 {
		t.Errorf("%+v, %v", values, err)
	}
}
