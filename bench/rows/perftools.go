package rows

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

const perfToolRecords = 200_000

// perfToolRows: Apache Kafka's own tools, that is the Java client, against both.
func perfToolRows() []row.Row {
	var all []row.Row
	for _, properties := range [][]string{{"acks=all"}, {"acks=all", "batch.size=65536", "linger.ms=5"}} {
		name := "perf tools/defaults"
		if len(properties) > 1 {
			name = "perf tools/64KiB"
		}
		all = append(all, row.Row{
			Name: name, Peers: both(), Standing: true, MostRounds: 3,
			Needs: func(b *row.Bench) int64 { return filed(b.Records(perfToolRecords)) },
			Run:   func(ctx context.Context, t row.Turn) ([]figure.Value, error) { return runPerfTools(ctx, t, properties) },
		})
	}
	return all
}

func runPerfTools(ctx context.Context, t row.Turn, properties []string) ([]figure.Value, error) {
	if reason := t.Launcher.Missing(peer.Kafka); reason != "" {
		return nil, fmt.Errorf("%w: %s", row.ErrSkip, reason)
	}
	topic := t.Topic()
	if err := t.Running.CreateTopic(ctx, topic, 1, nil); err != nil {
		return nil, err
	}
	records := t.Records(perfToolRecords)
	common := []string{"--bootstrap-server", t.Running.Addr, "--topic", topic, "--num-records", strconv.FormatInt(records, 10)}
	produce := append([]string{"org.apache.kafka.tools.ProducerPerformance", "--record-size", strconv.Itoa(recordBytes), "--throughput", "-1"}, common...)
	before, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	out, err := output(ctx, t.Launcher.Tool("512M", append(append(produce, "--command-property"), properties...)...))
	if err != nil {
		return nil, err
	}
	p, err := parsePerfProduce(out)
	if err != nil {
		return nil, err
	}
	between, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	if out, err = output(ctx, t.Launcher.Tool("512M", append([]string{"org.apache.kafka.tools.ConsumerPerformance"}, common...)...)); err != nil {
		return nil, err
	}
	c, err := parsePerfConsume(out)
	if err != nil {
		return nil, err
	}
	after, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	if p.records != records || c.records < records {
		return nil, fmt.Errorf("produced %d and consumed %d of %d records", p.records, c.records, records)
	}
	return []figure.Value{
		row.Value("produce", "records/s", p.perSecond), row.Value("produce, "+row.P99, "ms", p.p99),
		row.Value("produce, "+row.BrokerCPU, "µs/record", (between.CPU-before.CPU).Seconds()*1e6/float64(records)),
		row.Value("consume", "records/s", c.perSecond),
		row.Value("consume, "+row.BrokerCPU, "µs/record", (after.CPU-between.CPU).Seconds()*1e6/float64(records)),
	}, t.Running.DeleteTopic(ctx, topic)
}

// output runs a program and returns what it wrote on standard output.
func output(ctx context.Context, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", args[0], err, strings.TrimSpace(complaints.String()))
	}
	return string(out), nil
}

// perfProduce is the last line of kafka-producer-perf-test.
type perfProduce struct {
	records             int64
	perSecond, p50, p99 float64 // the latter in milliseconds
}

func parsePerfProduce(out string) (perfProduce, error) {
	line := regexp.MustCompile(`(?m)^(\d+) records sent, ([\d.]+) records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, [\d.]+ ms max latency, (\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th`)
	m := line.FindStringSubmatch(out)
	if m == nil {
		return perfProduce{}, fmt.Errorf("no summary in the producer's output:\n%s", out)
	}
	n, err := numbers(m[1:])
	if err != nil {
		return perfProduce{}, err
	}
	return perfProduce{int64(n[0]), n[1], n[2], n[3]}, nil
}

// perfConsume is the line of kafka-consumer-perf-test. The rate leaves out the time until the group had its
// partitions (fetch.nMsg.sec).
type perfConsume struct {
	records   int64
	perSecond float64
}

func parsePerfConsume(out string) (perfConsume, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	fields := strings.Split(lines[len(lines)-1], ", ")
	if len(fields) != 10 || strings.HasPrefix(fields[0], "start.time") {
		return perfConsume{}, fmt.Errorf("no summary in the consumer's output:\n%s", out)
	}
	n, err := numbers([]string{fields[4], fields[9]})
	if err != nil {
		return perfConsume{}, err
	}
	return perfConsume{int64(n[0]), n[1]}, nil
}

func numbers(texts []string) ([]float64, error) {
	var all []float64
	for _, s := range texts {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("a figure: %w", err)
		}
		all = append(all, n)
	}
	return all, nil
}
