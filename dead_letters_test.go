package samsa_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordDeadLetters is the address of an Apache Kafka broker to record testdata/dead_letters.txt from. It needs the settings
// of shareProperties, and replication factor 1 for its internal topics.
const recordDeadLetters = "SAMSA_TEST_RECORD_DEAD_LETTERS"

// TestDeadLetters lets share groups give records up, and holds what comes into their dead-letter queues, and what becomes of
// records that cannot come there, against what an Apache Kafka 4.4.0 did.
func TestDeadLetters(t *testing.T) {
	const file = "testdata/dead_letters.txt"
	if addr := os.Getenv(recordDeadLetters); addr != "" {
		got := deadLettersOf(t, addr)
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(got)) {
			fmt.Fprintf(&out, "dl-%s\n%s", name, got[name])
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, got := splitCases(string(text)), deadLettersOf(t, startBroker(t, shareProperties()).Addr())
	for _, c := range deadLetterCases() {
		if c.here != "" {
			want[c.name] = strings.ReplaceAll(c.here, "NAME", c.name) + "\n"
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d cases, recorded are %d", len(got), len(want))
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s:\n%s\n--- want\n%s", name, got[name], want[name])
		}
	}
}

// splitCases takes the recorded text apart by cases.
func splitCases(text string) map[string]string {
	cases := map[string]string{}
	for text != "" {
		name, rest, _ := strings.Cut(strings.TrimPrefix(text, "dl-"), "\n")
		end := strings.Index("\n"+rest, "\ndl-")
		if end < 0 {
			end = len(rest)
		}
		cases[name], text = rest[:end], rest[end:]
	}
	return cases
}

// deadLettersOf runs all cases and tells what came of each.
func deadLettersOf(t *testing.T, addr string) map[string]string {
	t.Helper()
	var mu sync.Mutex
	all := map[string]string{}
	together := func(cases ...deadLetterCase) {
		t.Run("", func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					d := newDeadLetters(t, addr)
					d.run(c)
					mu.Lock()
					defer mu.Unlock()
					all[c.name] = d.out.String()
				})
			}
		})
	}
	together(append(deadLetterCases(), deadLetterCase{name: "loaded", queue: enabled(), records: numbered(3, 0, 1), load: true})...)
	// Creation of topics is a setting of the cluster, and so is what their names must begin with.
	create, prefix := "errors.deadletterqueue.auto.create.topics.enable", "errors.deadletterqueue.topic.name.prefix"
	d := newDeadLetters(t, addr)
	d.broker(kadm.AlterConfig{Op: kadm.SetConfig, Name: create, Value: kadm.StringPtr("true")})
	together(deadLetterCase{name: "created", records: numbered(2, 1, 1), decide: reject, configs: true},
		deadLetterCase{name: "created-misnamed", queueName: "created-letters", records: numbered(1, 0, 1), decide: reject})
	d.broker(kadm.AlterConfig{Op: kadm.SetConfig, Name: prefix, Value: kadm.StringPtr("")})
	together(deadLetterCase{name: "any-name", queueName: "letters-of-any-name", records: numbered(1, 0, 1), decide: reject},
		deadLetterCase{name: "bad-name", queueName: "letters/of", records: numbered(1, 0, 1), decide: reject},
		deadLetterCase{name: "inner", queueName: "__letters", records: numbered(1, 0, 1), decide: reject})
	d.broker(kadm.AlterConfig{Op: kadm.DeleteConfig, Name: create}, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: prefix})
	return all
}

type deadLetters struct {
	t     *testing.T
	addr  string
	cl    *kgo.Client
	admin *kadm.Client
	out   strings.Builder
}

func newDeadLetters(t *testing.T, addr string) *deadLetters {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return &deadLetters{t: t, addr: addr, admin: kadm.NewClient(cl), cl: cl}
}

func (d *deadLetters) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

func (d *deadLetters) broker(c ...kadm.AlterConfig) {
	d.t.Helper()
	got, err := d.admin.AlterBrokerConfigs(d.t.Context(), c)
	if err != nil || got[0].Err != nil {
		d.t.Fatal(err, got)
	}
}

func (d *deadLetters) run(c deadLetterCase) {
	d.t.Helper()
	c.name = "dl-" + c.name
	queue := cmp.Or(c.queueName, "dlq."+strings.TrimPrefix(c.name, "dl-"))
	if c.queue != nil {
		d.create(queue, 2, c.queue)
	}
	d.create(c.name, 3, map[string]string{"retention.ms": "-1"})
	if err := tryGroupConfigs(d.t, d.cl, c.name, append(c.group, "errors.deadletterqueue.topic.name="+queue)...); err != nil {
		d.printf("  refused: %v\n", err)
		return
	}
	began := time.Now()
	d.produce(c)
	if c.load {
		d.load(c.name, queue)
	} else {
		d.consume(c)
	}
	d.read(queue, began)
	if c.configs {
		d.configs(queue)
	}
}

func (d *deadLetters) create(name string, partitions int32, configs map[string]string) {
	d.t.Helper()
	cs := map[string]*string{}
	for k, v := range configs {
		cs[k] = &v
	}
	if _, err := d.admin.CreateTopic(d.t.Context(), partitions, 1, cs, name); err != nil {
		d.t.Fatal(err)
	}
	eventually(d.t, "the topic has leaders", func() bool {
		got, err := d.admin.ListEndOffsets(d.t.Context(), name)
		return err == nil && got.Error() == nil && len(got[name]) == int(partitions)
	})
}

// produce writes the records of a case, in a batch of each partition.
func (d *deadLetters) produce(c deadLetterCase) {
	d.t.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(d.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Minute), kgo.ProducerBatchCompression(kgo.NoCompression())}
	if c.codec != (kgo.CompressionCodec{}) {
		opts = append(opts, kgo.ProducerBatchCompression(c.codec))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		d.t.Fatal(err)
	}
	defer cl.Close()
	for _, r := range c.records {
		own := *r // some are those of other cases, too
		own.Topic = c.name
		cl.Produce(d.t.Context(), &own, func(_ *kgo.Record, err error) {
			if err != nil {
				d.t.Error(err)
			}
		})
	}
	if err := cl.Flush(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// consume has a member decide until the group is done with all records.
func (d *deadLetters) consume(c deadLetterCase) {
	d.t.Helper()
	cl := shareConsumer(d.t, d.addr, c.name, c.name)
	defer func() { cl.Close() }()
	var seen int
	eventually(d.t, "the group is done", func() bool {
		ctx, cancel := context.WithTimeout(d.t.Context(), 100*time.Millisecond)
		defer cancel()
		for _, r := range cl.PollRecords(ctx, 100).Records() {
			seen++
			if s := c.decide(r); s != keep {
				r.Ack(s)
			} else if c.hold { // polling again would accept it
				cl = shareConsumer(d.t, d.addr, c.name, c.name)
			}
		}
		if c.leave > 0 && seen == c.leave {
			cl.Close()
			c.leave = 0
		}
		if !c.hold {
			_ = cl.FlushAcks(ctx) // what is not acknowledged comes again
		}
		return seen >= len(c.records) && d.done(c)
	})
}

// done tells whether the group is through with all partitions that have records.
func (d *deadLetters) done(c deadLetterCase) bool {
	d.t.Helper()
	for _, r := range c.records {
		if shareLagOf(d.t, d.cl, c.name, c.name, r.Partition) != 0 {
			return false
		}
	}
	return true
}

// read tells what a queue has, in the order of what its records say where they come from.
func (d *deadLetters) read(queue string, began time.Time) {
	d.t.Helper()
	ends, err := d.admin.ListEndOffsets(d.t.Context(), queue)
	if err != nil || ends.Error() != nil {
		d.printf("  there is no %s\n", queue)
		return
	}
	parts, left := map[int32]kgo.Offset{}, map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			parts[o.Partition], left[o.Partition] = kgo.NewOffset().AtStart(), o.Offset
		}
	})
	d.printf("  %d partitions\n", len(ends[queue]))
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{queue: parts}))
	if err != nil {
		d.t.Fatal(err)
	}
	defer cl.Close()
	var lines []string
	for len(left) > 0 {
		for _, r := range cl.PollFetches(d.t.Context()).Records() {
			lines = append(lines, "  "+letterText(r, began))
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		d.printf("%s\n", l)
	}
}

// letterText is a record of a dead-letter queue in one line.
func letterText(r *kgo.Record, began time.Time) string {
	text := func(b []byte) string {
		switch {
		case b == nil:
			return "null"
		case len(b) > 20:
			return fmt.Sprintf("%d bytes", len(b))
		}
		return fmt.Sprintf("%q", b)
	}
	stamp := r.Timestamp.UTC().Format(time.RFC3339)
	if r.Timestamp.After(began.Add(-time.Minute)) {
		stamp = "now"
	}
	s := fmt.Sprintf("partition %d key %s value %s at %s (type %d)", r.Partition, text(r.Key), text(r.Value), stamp, r.Attrs.TimestampType())
	for _, h := range r.Headers {
		v := text(h.Value)
		if strings.HasPrefix(h.Key, "__dlq.") {
			v = fmt.Sprintf("%q", h.Value)
		}
		s += fmt.Sprintf(" %s=%s", h.Key, v)
	}
	return s
}

// configs tells the settings that a topic has of its own.
func (d *deadLetters) configs(topic string) {
	d.t.Helper()
	got, err := d.admin.DescribeTopicConfigs(d.t.Context(), topic)
	if err != nil || got[0].Err != nil {
		d.t.Fatal(err)
	}
	own := map[string]string{}
	for _, c := range got[0].Configs {
		if c.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
			own[c.Key] = c.MaybeValue()
		}
	}
	for _, k := range slices.Sorted(maps.Keys(own)) {
		d.printf("  %s=%s\n", k, own[k])
	}
}
