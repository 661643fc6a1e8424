package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// benchConsumeOptions are the flags of bench consume, named as in kafka-consumer-perf-test.
type benchConsumeOptions struct {
	conn             *connection
	topic, group     string
	numRecords       int64
	fetchSize        int32
	timeoutMs        int64
	reportIntervalMs int64
	detailed         bool
	hideHeader       bool
	fromLatest       bool
	properties       []string
}

func newBenchConsumeCommand() *cobra.Command {
	var opts benchConsumeOptions
	cmd := &cobra.Command{
		Use:     "consume",
		Short:   "Measure consuming, like kafka-consumer-perf-test",
		Example: `  samsa bench consume --topic perf --num-records 1000000`,
		Args:    exactly(0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return opts.run(cmd) },
	}
	opts.conn = benchConnection(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.topic, "topic", "", "topic to consume from (required)")
	flags.Int64Var(&opts.numRecords, "num-records", 0, "how many records to consume (required)")
	flags.Int64Var(&opts.numRecords, "messages", 0, "older name of --num-records")
	flags.StringVar(&opts.group, "group", "", "consumer group (default perf-consumer-NNNNN)")
	flags.Int32Var(&opts.fetchSize, "fetch-size", 1<<20, "most `bytes` to fetch from a partition in a request")
	flags.Int64Var(&opts.timeoutMs, "timeout", 10_000, "longest `milliseconds` between records before giving up")
	flags.Int64Var(&opts.reportIntervalMs, "reporting-interval", 5000, "`milliseconds` between the lines of --show-detailed-stats")
	flags.BoolVar(&opts.detailed, "show-detailed-stats", false, "print a line per reporting interval instead of a summary")
	flags.BoolVar(&opts.hideHeader, "hide-header", false, "leave out the line with the names of the columns")
	flags.BoolVar(&opts.fromLatest, "from-latest", false, "start at the end where the group has committed nothing")
	flags.StringArrayVar(&opts.properties, "command-property", nil, "consumer property `KEY=VALUE` of the Java client; may be repeated")
	return cmd
}

func (o *benchConsumeOptions) run(cmd *cobra.Command) error {
	switch {
	case o.topic == "":
		return usagef("name the topic with --topic")
	case o.numRecords <= 0:
		return usagef("say how many records with --num-records")
	case o.reportIntervalMs <= 0 || o.timeoutMs <= 0 || o.fetchSize <= 0:
		return usagef("--reporting-interval, --timeout and --fetch-size must be positive")
	}
	props, err := parseProperties(o.properties, "client.id", "bootstrap.servers", "fetch.max.bytes", "fetch.min.bytes", "fetch.max.wait.ms", "isolation.level", "check.crcs")
	if err != nil {
		return err
	}
	clientOpts, err := o.consumerOptions(props)
	if err != nil {
		return err
	}
	o.conn.bootstrap = props.text("bootstrap.servers", o.conn.bootstrap)
	run := &benchConsumeRun{options: o, out: cmd.OutOrStdout()}
	clientOpts = append(clientOpts, kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {
		run.assigned.CompareAndSwap(0, time.Now().UnixNano())
	}))
	run.start = time.Now()
	cl, err := o.conn.client(cmd.Context(), clientOpts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	return run.consume(cmd.Context(), cl)
}

// consumerOptions translates the properties of a Java consumer with its defaults (ConsumerConfig of
// Kafka 4.4).
func (o *benchConsumeOptions) consumerOptions(props clientProperties) ([]kgo.Opt, error) {
	maxBytes, err1 := props.integer("fetch.max.bytes", 50<<20, 1)
	minBytes, err2 := props.integer("fetch.min.bytes", 1, 0)
	maxWait, err3 := props.integer("fetch.max.wait.ms", 500, 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	group := o.group
	if group == "" {
		group = fmt.Sprintf("perf-consumer-%d", rand.IntN(100_000))
	}
	start := kgo.NewOffset().AtStart()
	if o.fromLatest {
		start = kgo.NewOffset().AtEnd()
	}
	opts := []kgo.Opt{
		kgo.ClientID(props.text("client.id", "perf-consumer-client")),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(o.topic), kgo.ConsumeStartOffset(start),
		kgo.FetchMaxBytes(int32(min(maxBytes, 1<<30))), kgo.BrokerMaxReadBytes(1 << 30),
		kgo.FetchMaxPartitionBytes(o.fetchSize), kgo.FetchMinBytes(int32(min(minBytes, 1<<30))),
		kgo.FetchMaxWait(time.Duration(maxWait) * time.Millisecond),
	}
	if props.text("check.crcs", "true") == "false" {
		opts = append(opts, kgo.DisableFetchCRCValidation())
	}
	if props.text("isolation.level", "read_uncommitted") == "read_committed" {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return opts, nil
}

// benchConsumeRun counts what arrives and prints the lines of kafka-consumer-perf-test.
type benchConsumeRun struct {
	options *benchConsumeOptions
	out     io.Writer
	start   time.Time
	// assigned is when the group first gave partitions, in Unix nanoseconds; 0 before.
	assigned       atomic.Int64
	records, bytes int64
}

func (c *benchConsumeRun) consume(ctx context.Context, cl *kgo.Client) error {
	o := c.options
	if !o.hideHeader {
		first := "start.time, end.time"
		if o.detailed {
			first = "time, threadId"
		}
		fmt.Fprintf(c.out, "%s, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n", first)
	}
	windowStart, windowRecords, windowBytes := c.start, int64(0), int64(0)
	for c.records < o.numRecords {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(o.timeoutMs)*time.Millisecond)
		fetches := cl.PollRecords(waiting, 0)
		timedOut := waiting.Err() != nil
		cancel()
		if ctx.Err() != nil || timedOut && fetches.NumRecords() == 0 {
			break
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("consume from %s: %w", o.topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			c.records++
			c.bytes += int64(len(r.Key) + len(r.Value))
		})
		if now := time.Now(); o.detailed && now.Sub(windowStart) >= time.Duration(o.reportIntervalMs)*time.Millisecond {
			c.line(perfTime(now)+", 0", now.Sub(windowStart), c.bytes, c.bytes-windowBytes, c.records, c.records-windowRecords, windowStart)
			windowStart, windowRecords, windowBytes = now, c.records, c.bytes
		}
	}
	end := time.Now()
	if c.records < o.numRecords && ctx.Err() == nil {
		fmt.Fprintf(c.out, "WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. You can use the --timeout option to increase the timeout.\n", o.timeoutMs)
	}
	if !o.detailed {
		c.line(perfTime(c.start)+", "+perfTime(end), end.Sub(c.start), c.bytes, c.bytes, c.records, c.records, c.start)
	}
	return nil
}

// line prints one line: totals, and rates over the window of the given length that began at since. The
// time until the group had given partitions counts as rebalance and not as fetch time.
func (c *benchConsumeRun) line(first string, elapsed time.Duration, bytes, windowBytes, records, windowRecords int64, since time.Time) {
	var joining time.Duration
	if at := c.assigned.Load(); at != 0 {
		joining = min(max(time.Unix(0, at).Sub(since), 0), elapsed)
	}
	fetching := elapsed - joining
	fmt.Fprintf(c.out, "%s, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n", first,
		float64(bytes)/(1<<20), megabytes(windowBytes, elapsed), records, perSecond(windowRecords, elapsed),
		joining.Milliseconds(), fetching.Milliseconds(), megabytes(windowBytes, fetching), perSecond(windowRecords, fetching))
}
