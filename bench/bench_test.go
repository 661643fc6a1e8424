package main

import (
	"strings"
	"testing"
)

func TestParseProduce(t *testing.T) {
	out := "37432 records sent, 7320.9 records/sec (0.70 MB/sec), 1455.6 ms avg latency, 2631.0 ms max latency.\n" +
		"300000 records sent, 28074.115665 records/sec (2.68 MB/sec), 4101.60 ms avg latency, 5219.00 ms max latency, 4558 ms 50th, 5176 ms 95th, 5211 ms 99th, 5218 ms 99.9th.\n"
	got, err := parseProduce(out)
	want := produceResult{records: 300000, perSecond: 28074.115665, mbSecond: 2.68, avgLatency: 4101.60, p50: 4558, p99: 5211}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parseProduce("37432 records sent, 7320.9 records/sec"); err == nil {
		t.Error("a run without a summary was accepted")
	}
}

func TestParseConsume(t *testing.T) {
	out := "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n" +
		"2026-11-30 02:01:41:604, 2026-11-30 02:01:43:072, 28.6102, 19.4893, 300000, 204359.6730, 638, 830, 34.4702, 361445.7831\n"
	got, err := parseConsume(out)
	if want := (consumeResult{records: 300000, mbSecond: 34.4702, perSecond: 361445.7831}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := parseConsume(strings.SplitAfter(out, "\n")[0]); err == nil {
		t.Error("a header alone was accepted")
	}
}

func TestTable(t *testing.T) {
	r := newResults()
	for _, v := range []float64{300, 100, 200} {
		r.add("case", "client", "Samsa", produceResult{perSecond: v, p99: 2}, consumeResult{perSecond: v})
		r.add("case", "client", "Apache Kafka 4.4.0", produceResult{perSecond: 100, p99: 4}, consumeResult{perSecond: 400})
	}
	var out strings.Builder
	r.print(&out)
	want := `| case | measured with | what | Samsa | Apache Kafka 4.4.0 | Samsa is better by |
|---|---|---|---|---|---|
| case | client | produce, records/s | 200 [100–300] | 100 [100–100] | 2.00 |
| case | client | produce, 99th percentile, ms | 2 [2–2] | 4 [4–4] | 2.00 |
| case | client | consume, records/s | 200 [100–300] | 400 [400–400] | 0.50 |
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
