package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// benchProduceOptions are the flags of bench produce, named as in kafka-producer-perf-test.
type benchProduceOptions struct {
	conn             *connection
	topic            string
	numRecords       int64
	throughput       float64
	warmupRecords    int64
	reportIntervalMs int64
	properties       []string
	payload          payloadOptions
}

func newBenchProduceCommand() *cobra.Command {
	var opts benchProduceOptions
	cmd := &cobra.Command{
		Use:   "produce",
		Short: "Measure producing, like kafka-producer-perf-test",
		Example: `  samsa bench produce --topic perf --num-records 1000000 --record-size 100 --throughput -1
  samsa bench produce --topic perf --num-records 100000 --record-size 1024 \
    --throughput 20000 --command-property compression.type=zstd linger.ms=10`,
		Args: func(_ *cobra.Command, args []string) error {
			// Kafka's tool takes several properties after one flag; so do we.
			_, err := parseProperties(args, producerPropertyNames()...)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.properties = append(opts.properties, args...)
			return opts.run(cmd)
		},
	}
	opts.conn = benchConnection(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.topic, "topic", "", "topic to produce to (required)")
	flags.Int64Var(&opts.numRecords, "num-records", 0, "how many records to produce (required)")
	flags.Float64Var(&opts.throughput, "throughput", -1, "records a second, about; -1 for as many as possible")
	flags.Int64Var(&opts.warmupRecords, "warmup-records", 0, "records at the beginning that the second summary leaves out")
	flags.Int64Var(&opts.reportIntervalMs, "reporting-interval", 5000, "`milliseconds` between the lines of progress")
	flags.StringArrayVar(&opts.properties, "command-property", nil, "producer property `KEY=VALUE` of the Java client; may be repeated")
	flags.StringArrayVar(&opts.properties, "producer-props", nil, "older name of --command-property")
	opts.payload.flags(flags)
	return cmd
}

func (o *benchProduceOptions) check() error {
	switch {
	case o.topic == "":
		return usagef("name the topic with --topic")
	case o.numRecords <= 0:
		return usagef("say how many records with --num-records")
	case o.throughput == 0:
		return usagef("--throughput 0 would never send a record; use -1 for no limit")
	case o.warmupRecords < 0 || o.warmupRecords >= o.numRecords && o.warmupRecords > 0:
		return usagef("--warmup-records must be fewer than --num-records")
	case o.reportIntervalMs <= 0:
		return usagef("--reporting-interval must be positive")
	default:
		return nil
	}
}

func (o *benchProduceOptions) run(cmd *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	props, err := parseProperties(o.properties, producerPropertyNames()...)
	if err != nil {
		return err
	}
	payload, err := o.payload.source()
	if err != nil {
		return err
	}
	clientOpts, err := producerOptions(props, payload.largest)
	if err != nil {
		return err
	}
	o.conn.bootstrap = props.text("bootstrap.servers", o.conn.bootstrap)
	cl, err := o.conn.client(cmd.Context(), append(clientOpts, kgo.DefaultProduceTopic(o.topic))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	return o.produce(cmd.Context(), cmd.OutOrStdout(), cl, payload)
}

// produce sends the records and prints the statistics. A failed record ends the run: a rate over records
// of which some were lost means nothing.
func (o *benchProduceOptions) produce(ctx context.Context, out io.Writer, cl *kgo.Client, payload *payloadSource) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start := time.Now()
	all := newPerfStats(out, o.numRecords, time.Duration(o.reportIntervalMs)*time.Millisecond, start)
	var steady *perfStats
	if o.warmupRecords > 0 {
		fmt.Fprintf(out, "Warmup first %d records. Steady state results will print after the complete test summary.\n", o.warmupRecords)
	}
	pace := pacer{start: start, perSecond: o.throughput}
	for i := int64(0); i < o.numRecords && ctx.Err() == nil; i++ {
		if i == o.warmupRecords && i > 0 {
			steady = newPerfStats(out, o.numRecords-o.warmupRecords, 0, time.Now())
			steady.steady = " steady state"
			fmt.Fprintln(out, "In steady state.")
		}
		value, counted := payload.next(), steady
		sent := time.Now()
		cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				fail(err)
				return
			}
			now := time.Now()
			all.record(sent, now, len(value))
			if counted != nil {
				counted.record(sent, now, len(value))
			}
		})
		if err := pace.wait(ctx, i+1, sent); err != nil {
			break
		}
	}
	if err := cl.Flush(ctx); err != nil || ctx.Err() != nil {
		return fmt.Errorf("produce to %s: %w", o.topic, context.Cause(ctx))
	}
	end := time.Now()
	all.summary(end)
	if steady != nil {
		steady.summary(end)
	}
	return nil
}

// pacer slows a loop down to a rate.
type pacer struct {
	start     time.Time
	perSecond float64 // no limit when negative
}

// wait sleeps until the time has come for what follows the first sent records.
func (p pacer) wait(ctx context.Context, sent int64, now time.Time) error {
	if p.perSecond < 0 {
		return nil
	}
	due := p.start.Add(time.Duration(float64(sent) / p.perSecond * float64(time.Second)))
	// Sleeping for less is less exact than not sleeping.
	const shortestSleep = time.Millisecond
	ahead := due.Sub(now)
	if ahead < shortestSleep {
		return nil
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
