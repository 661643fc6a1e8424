package rows

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/row"
)

const rdkafkaRecords = 400_000

// rdkafkaRows: librdkafka's own program, that is the client under Python, .NET and many tools.
func rdkafkaRows() []row.Row {
	return []row.Row{{Name: "rdkafka_performance", Peers: both(), Standing: true, Run: runRdkafka,
		Needs: func(b *row.Bench) int64 { return filed(b.Records(rdkafkaRecords)) }}}
}

func runRdkafka(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	if t.Rdkafka == "" {
		return nil, fmt.Errorf("%w: no program rdkafka_performance: scripts/bench-rdkafka.sh builds it from Debian's source", row.ErrSkip)
	}
	topic := t.Topic()
	if err := t.Running.CreateTopic(ctx, topic, 1, nil); err != nil {
		return nil, err
	}
	records := t.Records(rdkafkaRecords)
	count := strconv.FormatInt(records, 10)
	common := []string{"-t", topic, "-p", "0", "-b", t.Running.Addr, "-c", count, "-q"}
	before, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	out, err := output(ctx, append([]string{t.Rdkafka, "-P", "-s", strconv.Itoa(recordBytes), "-a", "-1", "-X", "queue.buffering.max.messages=100000"}, common...))
	if err != nil {
		return nil, err
	}
	produced, err := parseRdkafka(out, "produced", records)
	if err != nil {
		return nil, err
	}
	between, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	if out, err = output(ctx, append([]string{t.Rdkafka, "-C", "-o", "beginning"}, common...)); err != nil {
		return nil, err
	}
	consumed, err := parseRdkafka(out, "consumed", records)
	if err != nil {
		return nil, err
	}
	after, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	return []figure.Value{
		row.Value("produce", "records/s", produced), row.Value("produce, "+row.BrokerCPU, "µs/record", (between.CPU-before.CPU).Seconds()*1e6/float64(records)),
		row.Value("consume", "records/s", consumed), row.Value("consume, "+row.BrokerCPU, "µs/record", (after.CPU-between.CPU).Seconds()*1e6/float64(records)),
	}, t.Running.DeleteTopic(ctx, topic)
}

// parseRdkafka returns the rate in the last summary of so many messages that were produced or consumed.
func parseRdkafka(out, what string, records int64) (float64, error) {
	line := regexp.MustCompile(`(?m)^% (\d+) messages (?:` + what + ` )?\(\d+ bytes\)(?: ` + what + `)?.* in (\d+)ms: (\d+) msgs?/s`)
	all := line.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("no summary in the output of rdkafka_performance:\n%s", out)
	}
	n, err := numbers(all[len(all)-1][1:])
	if err != nil {
		return 0, err
	}
	if int64(n[0]) < records {
		return 0, fmt.Errorf("%s %.0f of %d messages", what, n[0], records)
	}
	return n[2], nil
}
