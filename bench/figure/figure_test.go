package figure

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Summary
		text   string
	}{
		{nil, Summary{}, "–"},
		{[]float64{3}, Summary{3, 3, 3, 1}, "3.00"},
		{[]float64{3, 1, 2}, Summary{2, 1, 3, 3}, "2.00 [1.00–3.00]"},
		{[]float64{400000, 100000, 300000, 200000}, Summary{250000, 100000, 400000, 4}, "250,000 [100,000–400,000]"},
	} {
		if got := Summarise(c.values); got != c.want || got.String() != c.text {
			t.Errorf("%v: %+v %q", c.values, got, got)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1.005: "1.00", 12.34: "12.3", 123.4: "123", 1234: "1,230", 999_999: "1,000,000", 1_000_500: "1,000,000", -1234: "-1,230", 10_099: "10,100"} {
		if got := Short(v); got != want {
			t.Errorf("%v: %q, wanted %q", v, got, want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var sorted []int64
	for i := range int64(1000) {
		sorted = append(sorted, i+1)
	}
	for p, want := range map[float64]int64{0: 1, 0.5: 500, 0.99: 990, 0.999: 999, 1: 1000} {
		if got := Percentile(sorted, p); got != want {
			t.Errorf("%v: %d, wanted %d", p, got, want)
		}
	}
	if Percentile([]int64(nil), 0.5) != 0 {
		t.Error("of nothing")
	}
}

func filled() *Table {
	t := NewTable()
	t.Run = Run{System: "linux/amd64", CPU: "some CPU", Cores: 2, Rounds: 3}
	for round, v := range []float64{100, 200, 300} {
		t.Add(Sample{"produce/a b", "samsa", round, Value{"rate", "records/s", v}})
		t.Add(Sample{"produce/a b", "kafka", round, Value{"rate", "records/s", v / float64(round+1)}})
		t.Add(Sample{"produce/a b", "samsa", round, Value{"p99", "ms", 2}})
	}
	t.Add(Sample{"limits", "machine", 0, Value{"write", "MB/s", 400}})
	t.Skip(Skipped{"produce/a b", "nats", "no reason"})
	return t
}

// TestRatioPairsRounds: the rounds have ratios 1, 2, 3, while the medians would give 2 as well only by chance.
func TestRatioPairsRounds(t *testing.T) {
	table := filled()
	table.Add(Sample{"produce/a b", "kafka", 2, Value{"rate", "records/s", 3000}})
	if got, ok := table.Ratio("produce/a b", "samsa", "rate", "produce/a b", "kafka", "rate"); !ok || got != 1 {
		t.Errorf("ratio %v %v; rounds give 1, 2, 0.1", got, ok)
	}
	if got, ok := table.Ratio("produce/a b", "samsa", "rate", "limits", "machine", "write"); !ok || got != 0.5 {
		t.Errorf("ratio of medians %v %v", got, ok)
	}
	if _, ok := table.Ratio("produce/a b", "samsa", "rate", "produce/a b", "nobody", "rate"); ok {
		t.Error("a ratio to nothing")
	}
}

func TestJudge(t *testing.T) {
	table := filled()
	for _, c := range []struct {
		mark           Mark
		known, reached bool
		wanted         string
	}{
		{Mark{Row: "produce/a b", Figure: "rate", Peer: "samsa", Of: Of{Peer: "kafka"}, AtLeast: 2}, true, true, "≥ 2.00 × kafka"},
		{Mark{Row: "produce/a b", Figure: "rate", Peer: "samsa", Of: Of{Peer: "kafka"}, AtLeast: 2.1}, true, false, "≥ 2.10 × kafka"},
		{Mark{Row: "produce/a b", Figure: "p99", Peer: "samsa", AtMost: 2}, true, true, "≤ 2.00 ms"},
		{Mark{Row: "produce/a b", Figure: "p99", Peer: "samsa", AtMost: 1}, true, false, "≤ 1.00 ms"},
		{Mark{Row: "produce/a b", Figure: "rate", Peer: "samsa", Of: Of{Peer: "machine", Row: "limits", Figure: "write"}, AtLeast: 0.5}, true, true, "≥ 0.5 × machine in limits, write"},
		{Mark{Row: "produce/a b", Figure: "p50", Peer: "samsa", AtMost: 1}, false, false, "≤ 1.00 ms"},
	} {
		v := table.Judge(c.mark)
		if v.Known != c.known || v.Reached != c.reached || c.mark.Wanted("ms") != c.wanted {
			t.Errorf("%+v: %+v, %q", c.mark, v, c.mark.Wanted("ms"))
		}
	}
}

func TestFileComesBack(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	want := filled()
	if err := w.Run(want.Run); err != nil {
		t.Fatal(err)
	}
	for _, row := range want.Rows() {
		for _, peer := range want.Peers(row) {
			for _, name := range want.Names(row) {
				for round, v := range want.values(row, peer, name.Name) {
					if err := w.Sample(Sample{row, peer, round, Value{name.Name, name.Unit, v}}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if err := w.Skipped(want.Skips()[0]); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got.Run.CPU != "some CPU" || got.Summary("produce/a b", "samsa", "rate") != (Summary{200, 100, 300, 3}) || len(got.Skips()) != 1 {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"{", "{}", `{"sample":3}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestGoBenchmarks(t *testing.T) {
	var b strings.Builder
	if err := filled().WriteGoBenchmarks(&b, "samsa"); err != nil {
		t.Fatal(err)
	}
	want := "goos: linux\npkg: samsa/bench\ncpu: some CPU\n" +
		"BenchmarkProduce/a-b 1 100 rate-records/s 2 p99-ms\nBenchmarkProduce/a-b 1 200 rate-records/s 2 p99-ms\nBenchmarkProduce/a-b 1 300 rate-records/s 2 p99-ms\n"
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestNotANumberIsSaid(t *testing.T) {
	if got := Short(math.NaN()); got != "NaN" {
		t.Error(got)
	}
}
