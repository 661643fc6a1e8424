package cli

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// maxSampledLatencies bounds the memory of the percentiles, as Kafka's tool does.
const maxSampledLatencies = 500_000

// perfStats gathers what kafka-producer-perf-test prints: a line per reporting interval and a summary.
type perfStats struct {
	out      io.Writer
	interval time.Duration
	// steady is added to the count in the summary of the records after the warm-up; "" for all records.
	steady string

	mu struct {
		sync.Mutex
		start       time.Time
		windowStart time.Time
		window      latencySum
		total       latencySum
		// sampled are latencies in milliseconds of every sampling-th record.
		sampled  []int64
		sampling int64
	}
}

// latencySum sums up records; latencies are whole milliseconds as Kafka's tool measures them.
type latencySum struct {
	count, bytes, sumMs, maxMs int64
}

func (s *latencySum) add(latencyMs, bytes int64) {
	s.count++
	s.bytes += bytes
	s.sumMs += latencyMs
	s.maxMs = max(s.maxMs, latencyMs)
}

// newPerfStats starts the clock. expected is how many records will be counted; silent stats (interval 0)
// print no windows.
func newPerfStats(out io.Writer, expected int64, interval time.Duration, now time.Time) *perfStats {
	s := &perfStats{out: out, interval: interval}
	s.mu.start, s.mu.windowStart = now, now
	s.mu.sampling = max(1, (expected+maxSampledLatencies-1)/maxSampledLatencies)
	s.mu.sampled = make([]int64, 0, min(expected/s.mu.sampling+1, maxSampledLatencies))
	return s
}

// record counts one acknowledged record that was sent at sent, and prints a window that has ended.
func (s *perfStats) record(sent, now time.Time, bytes int) {
	latencyMs := now.Sub(sent).Milliseconds()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.total.count%s.mu.sampling == 0 && len(s.mu.sampled) < cap(s.mu.sampled) {
		s.mu.sampled = append(s.mu.sampled, latencyMs)
	}
	s.mu.window.add(latencyMs, int64(bytes))
	s.mu.total.add(latencyMs, int64(bytes))
	if elapsed := now.Sub(s.mu.windowStart); s.interval > 0 && elapsed >= s.interval {
		w := s.mu.window
		fmt.Fprintf(s.out, "%d records sent, %.1f records/sec (%.2f MB/sec), %.1f ms avg latency, %.1f ms max latency.\n",
			w.count, perSecond(w.count, elapsed), megabytes(w.bytes, elapsed), mean(w.sumMs, w.count), float64(w.maxMs))
		s.mu.window, s.mu.windowStart = latencySum{}, now
	}
}

// summary prints the last line, over everything counted until now.
func (s *perfStats) summary(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, elapsed := s.mu.total, now.Sub(s.mu.start)
	slices.Sort(s.mu.sampled)
	fmt.Fprintf(s.out, "%d%s records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n",
		t.count, s.steady, perSecond(t.count, elapsed), megabytes(t.bytes, elapsed), mean(t.sumMs, t.count), float64(t.maxMs),
		percentile(s.mu.sampled, 0.5), percentile(s.mu.sampled, 0.95), percentile(s.mu.sampled, 0.99), percentile(s.mu.sampled, 0.999))
}

// percentile returns the value at share p of sorted, 0 when there is none.
func percentile(sorted []int64, p float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}

func mean(sum, n int64) float64 {
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}

// perSecond and megabytes return rates; Kafka's MB are 1024 * 1024 bytes.
func perSecond(n int64, elapsed time.Duration) float64 {
	return float64(n) / max(elapsed.Seconds(), 0.001)
}

func megabytes(n int64, elapsed time.Duration) float64 {
	return perSecond(n, elapsed) / (1 << 20)
}
