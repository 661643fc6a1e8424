package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produceOptions are the flags of produce.
type produceOptions struct {
	conn         connection
	keySeparator string
	nullText     string
	headers      []string
	partition    int32
	repartition  bool
	compression  string
	acks         string
	input        string
	quiet        bool
}

func newProduceCommand() *cobra.Command {
	var opts produceOptions
	cmd := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Write the lines of standard input to a topic",
		Long: `Write the lines of standard input to a topic, one record a line.

With --input json each line is an object as "samsa consume --json" prints it,
with key, value, headers, partition and timestamp; bytes that are no text stand
in base64 in keyBase64 and valueBase64.`,
		Example: `  echo hello | samsa produce greetings
  printf 'alice:1\nbob:2\n' | samsa produce scores --key-separator :
  samsa produce events -H source=cron -z zstd <events.txt
  samsa consume old --to end --json | samsa produce new --input json --repartition`,
		Args: exactly(1, "the topic to write to"),
		RunE: func(cmd *cobra.Command, args []string) error { return opts.run(cmd, args[0]) },
	}
	opts.conn.flags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&opts.keySeparator, "key-separator", "k", "", "`TEXT` between key and value; without it records have no key")
	flags.StringVar(&opts.nullText, "null", "", "a key or value that is this `TEXT` is null (a null value is a tombstone)")
	flags.StringArrayVarP(&opts.headers, "header", "H", nil, "header `KEY=VALUE` of every record; may be repeated")
	flags.Int32VarP(&opts.partition, "partition", "p", -1, "`partition` to write to; -1 leaves it to key hash and stickiness")
	flags.BoolVar(&opts.repartition, "repartition", false, "with --input json: ignore the partition that a record names")
	flags.StringVarP(&opts.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	flags.StringVar(&opts.acks, "acks", "all", "who must have a record before it counts as written: all, 1 (the leader) or 0 (nobody)")
	flags.StringVar(&opts.input, "input", "lines", "what standard input holds: lines or json")
	flags.BoolVarP(&opts.quiet, "quiet", "q", false, "do not say how much was written")
	return cmd
}

func (o *produceOptions) run(cmd *cobra.Command, topic string) error {
	parse, err := o.parser()
	if err != nil {
		return err
	}
	clientOpts, err := o.clientOptions()
	if err != nil {
		return err
	}
	// The client outlives the person's Ctrl-C, so that what was read is still written.
	ctx := context.WithoutCancel(cmd.Context())
	cl, err := o.conn.client(ctx, append(clientOpts, kgo.DefaultProduceTopic(topic), o.batchLimit(ctx, topic))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	run := &produceRun{client: cl, parse: parse, partition: o.partition, grace: o.conn.timeout}
	err = run.copy(cmd.Context(), ctx, cmd.InOrStdin())
	if !o.quiet {
		verb := "wrote"
		if o.acks == "0" {
			verb = "sent without acknowledgement"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s %s to %s\n", verb, count(run.written.Load(), "record"), topic)
	}
	if err != nil {
		return fmt.Errorf("produce to %s: %w", topic, err)
	}
	return nil
}

// batchLimit lets records be as large as the topic allows. A topic that cannot be looked up (it may be
// created by the first record) has Kafka's default limit.
func (o *produceOptions) batchLimit(ctx context.Context, topic string) kgo.Opt {
	limit := int32(1048588)
	// Not knowing the limit is no error: the broker enforces it anyway.
	_ = o.conn.admin(ctx, func(ctx context.Context, adm *admin) error {
		configs, err := adm.DescribeTopicConfigs(ctx, topic)
		if err != nil || len(configs) != 1 {
			return err
		}
		for _, c := range configs[0].Configs {
			if n, err := strconv.ParseInt(c.MaybeValue(), 10, 32); err == nil && c.Key == "max.message.bytes" {
				limit = int32(n)
			}
		}
		return nil
	})
	// The client's own ceiling for a request is 100 MiB; a batch must fit into one.
	return kgo.ProducerBatchMaxBytes(min(max(limit, 1), 100<<20))
}

func (o *produceOptions) clientOptions() ([]kgo.Opt, error) {
	codec, err := parseCompression(o.compression)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec),
		kgo.AllowAutoTopicCreation(),
		kgo.RecordDeliveryTimeout(o.conn.timeout),
		kgo.RecordPartitioner(chosenOrHashed{kgo.StickyKeyPartitioner(nil)}),
	}
	switch o.acks {
	case "all", "-1":
		return append(opts, kgo.RequiredAcks(kgo.AllISRAcks())), nil
	case "1":
		return append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()), nil
	case "0":
		return append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()), nil
	default:
		return nil, usagef("--acks is all, 1 or 0, not %q", o.acks)
	}
}

func parseCompression(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	default:
		return kgo.CompressionCodec{}, usagef("there is no codec %q: use none, gzip, snappy, lz4 or zstd", name)
	}
}

// parser returns what turns a line of standard input into a record.
func (o *produceOptions) parser() (func(line []byte) (*kgo.Record, error), error) {
	var headers []kgo.RecordHeader
	for _, h := range o.headers {
		key, value, ok := strings.Cut(h, "=")
		if !ok {
			return nil, usagef("header %q is not KEY=VALUE", h)
		}
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	switch o.input {
	case "json":
		return func(line []byte) (*kgo.Record, error) {
			r, err := parseJSONRecord(line)
			if err != nil {
				return nil, err
			}
			if o.repartition {
				r.Partition = -1
			}
			r.Headers = append(r.Headers, headers...)
			return r, nil
		}, nil
	case "lines":
		return func(line []byte) (*kgo.Record, error) {
			r := &kgo.Record{Partition: -1, Value: line, Headers: headers}
			if o.keySeparator != "" {
				key, value, ok := bytes.Cut(line, []byte(o.keySeparator))
				if !ok {
					return nil, fmt.Errorf("there is no %q between key and value", o.keySeparator)
				}
				r.Key, r.Value = o.nullable(key), value
			}
			r.Value = o.nullable(r.Value)
			return r, nil
		}, nil
	default:
		return nil, usagef("--input is lines or json, not %q", o.input)
	}
}

// nullable returns nil for the text that stands for null, else b, never nil.
func (o *produceOptions) nullable(b []byte) []byte {
	switch {
	case o.nullText != "" && string(b) == o.nullText:
		return nil
	case b == nil:
		return []byte{}
	default:
		return b
	}
}

// produceRun copies lines to the client and keeps the count.
type produceRun struct {
	client    *kgo.Client
	parse     func([]byte) (*kgo.Record, error)
	partition int32
	// grace is how long after a stop it is still tried to write what was read.
	grace   time.Duration
	written atomic.Int64
}

// errUnwritten ends a stop that takes too long: the leader of a partition does not answer, for instance.
var errUnwritten = errors.New("stopped before everything that was read could be written")

// copy writes each line of in until its end, until stop ends or until a record fails; what was handed to
// the client before is flushed in every case. From a stop on that may take as long as grace: handing a record to a client
// that has no room waits like flushing does, for as long as the leader of its partition cannot be reached.
func (p *produceRun) copy(stop, ctx context.Context, in lineSource) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer context.AfterFunc(stop, func() {
		late := time.AfterFunc(p.grace, func() { fail(errUnwritten) })
		context.AfterFunc(ctx, func() { late.Stop() })
	})()
	lines := readLines(in)
	readErr := func() error {
		for {
			select {
			case <-stop.Done():
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case line, ok := <-lines.next:
				if !ok {
					return lines.err
				}
				if err := p.send(ctx, line, fail); err != nil {
					return err
				}
			}
		}
	}()
	flushErr := p.client.Flush(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errors.Join(readErr, flushErr)
}

func (p *produceRun) send(ctx context.Context, line numberedLine, fail context.CancelCauseFunc) error {
	r, err := p.parse(line.text)
	if err != nil {
		return fmt.Errorf("line %d: %w", line.number, err)
	}
	if p.partition >= 0 {
		r.Partition = p.partition
	}
	p.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			fail(p.explain(line, r, err))
			return
		}
		p.written.Add(1)
	})
	return nil
}

// explain says which line failed; the client words a partition that does not exist as an internal matter.
func (p *produceRun) explain(line numberedLine, r *kgo.Record, err error) error {
	if strings.Contains(err.Error(), "invalid record partitioning choice") {
		return withHint(fmt.Errorf("line %d: the topic has no partition %d", line.number, r.Partition),
			"Use --repartition to ignore the partitions that the records name.")
	}
	return fmt.Errorf("line %d: %w", line.number, err)
}

// chosenOrHashed sends a record to the partition it names, and the others where the inner partitioner
// says.
type chosenOrHashed struct{ inner kgo.Partitioner }

func (c chosenOrHashed) ForTopic(topic string) kgo.TopicPartitioner {
	return &chosenOrHashedTopic{inner: c.inner.ForTopic(topic)}
}

type chosenOrHashedTopic struct{ inner kgo.TopicPartitioner }

// OnNewBatch lets the inner partitioner move on when a batch is full.
func (c *chosenOrHashedTopic) OnNewBatch() {
	if sticky, ok := c.inner.(kgo.TopicPartitionerOnNewBatch); ok {
		sticky.OnNewBatch()
	}
}

func (c *chosenOrHashedTopic) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || c.inner.RequiresConsistency(r)
}

func (c *chosenOrHashedTopic) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return c.inner.Partition(r, n)
}
