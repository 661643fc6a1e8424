package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// consumeOptions are the flags of consume.
type consumeOptions struct {
	conn          connection
	from, to      string
	partitions    []int32
	count         int64
	group         string
	format        string
	asJSON        bool
	readCommitted bool
	idle          time.Duration
}

const consumeLong = `Print the records of topics, and go on as new ones arrive, until Ctrl-C or one of
--to, --count and --idle ends it.

` + positionHelp + `

With --group the group's committed offsets come first and --from counts only
where there are none; what was printed is committed.

--format puts a record together from
  %t topic   %p partition   %o offset   %k key   %v value
  %h{…} headers, with %k and %v inside       %H number of headers
  %d timestamp in milliseconds, %d{go[2006-01-02 15:04:05]} or %d{strftime[%F %T]}
  %k{hex} %v{base64} other encodings         %K %V lengths      \n \t newline, tab`

func newConsumeCommand() *cobra.Command {
	var opts consumeOptions
	cmd := &cobra.Command{
		Use:   "consume TOPIC…",
		Short: "Print the records of topics",
		Long:  consumeLong,
		Example: `  samsa consume greetings
  samsa consume orders --from -5 --format '%p:%o %k=%v\n'
  samsa consume orders --from @1h --to end --json
  samsa consume orders --group billing --count 100`,
		Args: atLeast(1, "the topic to read"),
		RunE: func(cmd *cobra.Command, topics []string) error {
			if err := opts.check(); err != nil {
				return err
			}
			return opts.run(cmd, topics)
		},
	}
	opts.conn.flags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&opts.from, "from", "o", "earliest", "`POSITION` of the first record to print")
	flags.StringVar(&opts.to, "to", "", "`POSITION` to stop before; \"end\" is the end as it is now")
	flags.Int32SliceVarP(&opts.partitions, "partition", "p", nil, "read only these `partitions`")
	flags.Int64VarP(&opts.count, "count", "n", 0, "stop after this many `records`")
	flags.DurationVar(&opts.idle, "idle", 0, "stop when nothing has arrived for this long")
	flags.StringVarP(&opts.group, "group", "g", "", "read as a member of this consumer `GROUP`")
	flags.StringVarP(&opts.format, "format", "f", `%v\n`, "how to print a record")
	flags.BoolVar(&opts.asJSON, "json", false, "print each record as a JSON object on a line")
	flags.BoolVar(&opts.readCommitted, "read-committed", false, "leave out records of open and aborted transactions")
	return cmd
}

func (o *consumeOptions) check() error {
	if o.group == "" {
		return nil
	}
	if o.to != "" {
		return usagef("--to does not go with --group, whose members do not know each other's positions; use --count or --idle")
	}
	if len(o.partitions) > 0 {
		return usagef("--partition does not go with --group, which spreads the partitions itself")
	}
	return nil
}

func (o *consumeOptions) run(cmd *cobra.Command, topics []string) error {
	now := time.Now()
	from, err := parsePosition(o.from, now)
	if err != nil {
		return err
	}
	printer, err := o.printer(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	clientOpts := []kgo.Opt{kgo.KeepControlRecords(), kgo.WithDecompressor(oldLZ4{kgo.DefaultDecompressor()})}
	if o.readCommitted {
		clientOpts = append(clientOpts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if o.to != "" {
		clientOpts = append(clientOpts, kgo.FetchMaxWait(lookEvery))
	}
	if o.group != "" {
		clientOpts = append(clientOpts, kgo.ConsumerGroup(o.group), kgo.ConsumeTopics(topics...),
			kgo.ConsumeStartOffset(from.start()), kgo.AutoCommitMarks(), kgo.BlockRebalanceOnPoll())
	}
	cl, err := o.conn.client(cmd.Context(), clientOpts...)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	run := &consumeRun{options: o, client: cl, printer: printer, pending: map[topicPartition]consumeBound{}}
	if o.group == "" {
		if err := run.assign(cmd.Context(), topics, from, now); err != nil {
			return err
		}
	}
	return errors.Join(run.loop(cmd.Context()), run.commit(context.WithoutCancel(cmd.Context())))
}

// start is the position as the client takes it where a group has committed nothing.
func (p position) start() kgo.Offset {
	o := kgo.NewOffset()
	switch p.kind {
	case positionLatest:
		return o.AtEnd()
	case positionOffset:
		return o.At(p.value)
	case positionFromEnd:
		return o.AtEnd().Relative(-p.value)
	case positionFromTime:
		return o.AfterMilli(p.value)
	default:
		return o.AtStart()
	}
}

type topicPartition struct {
	topic     string
	partition int32
}

// consumeRun is one run of consume.
type consumeRun struct {
	options *consumeOptions
	client  *kgo.Client
	printer *recordPrinter
	// bounded is set when --to was given; pending then holds the partitions that have not reached it.
	bounded bool
	pending map[topicPartition]consumeBound
	printed int64
	// quiet is for how long nothing has arrived.
	quiet time.Duration
}

// assign resolves --from and --to and starts fetching the partitions between which there is something.
func (c *consumeRun) assign(ctx context.Context, topics []string, from position, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.conn.timeout)
	defer cancel()
	set, err := partitionsOf(ctx, &admin{Client: kadm.NewClient(c.client), raw: c.client}, topics)
	if err != nil {
		return err
	}
	if set, err = c.options.chosen(set); err != nil {
		return err
	}
	starts, err := from.resolve(ctx, c.client, set, c.options.readCommitted)
	if err != nil {
		return err
	}
	var ends partitionOffsets
	if c.bounded = c.options.to != ""; c.bounded {
		to, err := parsePosition(c.options.to, now)
		if err != nil {
			return err
		}
		if ends, err = to.resolve(ctx, c.client, set, c.options.readCommitted); err != nil {
			return err
		}
	}
	consume := map[string]map[int32]kgo.Offset{}
	for topic, partitions := range starts {
		for partition, start := range partitions {
			if c.bounded {
				if start >= ends.offset(topic, partition) {
					continue
				}
				c.pending[topicPartition{topic, partition}] = consumeBound{start, ends.offset(topic, partition)}
			}
			if consume[topic] == nil {
				consume[topic] = map[int32]kgo.Offset{}
			}
			consume[topic][partition] = kgo.NewOffset().At(start)
		}
	}
	c.client.AddConsumePartitions(consume)
	return nil
}

// chosen reduces the partitions to those of --partition.
func (o *consumeOptions) chosen(all kadm.TopicsSet) (kadm.TopicsSet, error) {
	if len(o.partitions) == 0 {
		return all, nil
	}
	set := kadm.TopicsSet{}
	for _, topic := range all.Topics() {
		for _, p := range o.partitions {
			if !all.Lookup(topic, p) {
				return nil, fmt.Errorf("partition %d of topic %s: %w", p, topic, kerr.UnknownTopicOrPartition)
			}
			set.Add(topic, p)
		}
	}
	return set, nil
}

// loop prints until something ends it: the person, a bound, the count or idleness.
func (c *consumeRun) loop(ctx context.Context) error {
	for !c.done() {
		fetches, idle := c.poll(ctx)
		if ctx.Err() != nil || idle {
			break
		}
		if c.bounded && c.quiet > 0 {
			if err := c.passEmpty(ctx); err != nil {
				return errors.Join(err, c.printer.flush())
			}
		}
		var failed error
		fetches.EachError(func(topic string, partition int32, err error) {
			failed = fmt.Errorf("read %s-%d: %w", topic, partition, err)
		})
		if failed != nil {
			return errors.Join(failed, c.printer.flush())
		}
		for iter := fetches.RecordIter(); !iter.Done() && !c.done(); {
			if err := c.take(iter.Next()); err != nil {
				return err
			}
		}
		c.client.AllowRebalance()
		if err := c.printer.flush(); err != nil {
			return err
		}
	}
	return c.printer.flush()
}

// poll waits for records, and with --to and --idle not for ever; idle reports that --idle has passed without any.
func (c *consumeRun) poll(ctx context.Context) (fetches kgo.Fetches, idle bool) {
	patience := c.options.idle - c.quiet
	switch {
	case c.bounded && (c.options.idle <= 0 || patience > lookEvery):
		patience = lookEvery
	case c.options.idle <= 0:
		return c.client.PollFetches(ctx), false
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	fetches = c.client.PollFetches(waiting)
	if fetches.NumRecords() > 0 || waiting.Err() == nil {
		c.quiet = 0
		return fetches, false
	}
	c.quiet += patience
	return kgo.Fetches{}, c.options.idle > 0 && c.quiet >= c.options.idle
}

func (c *consumeRun) done() bool {
	if c.options.count > 0 && c.printed >= c.options.count {
		return true
	}
	return c.bounded && len(c.pending) == 0
}

// take prints a record that lies before its partition's bound, and notes when the bound is reached.
// Control records are not printed, but they count for the bound: a topic may end with one.
func (c *consumeRun) take(r *kgo.Record) error {
	tp := topicPartition{r.Topic, r.Partition}
	if c.bounded {
		b, ok := c.pending[tp]
		if !ok || r.Offset+1 >= b.end {
			c.reached(tp)
		} else {
			c.pending[tp] = consumeBound{r.Offset + 1, b.end}
		}
		if !ok || r.Offset >= b.end {
			return nil
		}
	}
	if c.options.group != "" {
		c.client.MarkCommitRecords(r)
	}
	if r.Attrs.IsControl() {
		return nil
	}
	c.printed++
	return c.printer.print(r)
}

// commit commits what was printed, when reading in a group.
func (c *consumeRun) commit(ctx context.Context) error {
	if c.options.group == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.conn.timeout)
	defer cancel()
	if err := c.client.CommitMarkedOffsets(ctx); err != nil {
		return fmt.Errorf("commit offsets of group %s: %w", c.options.group, err)
	}
	return nil
}

// recordPrinter writes records in the chosen form.
type recordPrinter struct {
	out    *bufio.Writer
	append func(dst []byte, r *kgo.Record) ([]byte, error)
	line   []byte
}

func (o *consumeOptions) printer(w io.Writer) (*recordPrinter, error) {
	p := &recordPrinter{out: bufio.NewWriterSize(w, 64<<10)}
	if o.asJSON {
		p.append = func(dst []byte, r *kgo.Record) ([]byte, error) {
			return appendJSONLine(dst, newJSONRecord(r))
		}
		return p, nil
	}
	formatter, err := kgo.NewRecordFormatter(o.format)
	if err != nil {
		return nil, usagef("--format %q: %w", o.format, err)
	}
	p.append = func(dst []byte, r *kgo.Record) ([]byte, error) { return formatter.AppendRecord(dst, r), nil }
	return p, nil
}

func (p *recordPrinter) print(r *kgo.Record) error {
	line, err := p.append(p.line[:0], r)
	if err != nil {
		return fmt.Errorf("print offset %d of %s-%d: %w", r.Offset, r.Topic, r.Partition, err)
	}
	p.line = line
	if _, err := p.out.Write(line); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}

func (p *recordPrinter) flush() error {
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}
