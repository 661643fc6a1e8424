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
	"github.com/twmb/franz-go/pkg/kmsg"
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

// deadLetterCase is one group on one topic with one dead-letter queue.
type deadLetterCase struct {
	name string
	// queue are configs of the queue's topic, of two partitions; nil for a topic that does not exist.
	queue map[string]string
	// queueName is dlq.NAME unless said otherwise.
	queueName string
	group     []string
	records   []*kgo.Record
	// decide says what is done with a record at a delivery; none is to keep it.
	decide func(*kgo.Record) kgo.AckStatus
	codec  kgo.CompressionCodec
	// leave lets the member leave once it has got so many records; hold has each delivery go to another member, who keeps it.
	leave int
	hold  bool
	// load has the state of share partition 0 say that 0 and 1 are on their way after one delivery, and 2 after five.
	load bool
	// configs tells the settings that the queue has of its own.
	configs bool
	// here is what comes of it where that is not as in Kafka.
	here string
}

const keep = kgo.AckStatus(0)

func reject(*kgo.Record) kgo.AckStatus { return kgo.AckReject }

func enabled(more ...string) map[string]string {
	c := map[string]string{"errors.deadletterqueue.group.enable": "true"}
	for _, m := range more {
		k, v, _ := strings.Cut(m, "=")
		c[k] = v
	}
	return c
}

// What comes into queues here and not in Kafka, which gives up all that was rejected together when one of it is refused, and
// copies nothing of a compressed batch that is larger than the queue's batches.
const (
	onlyRefusedAreLost = `  2 partitions
  partition 0 key "" value "" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="3" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "k" value "v" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="0" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "no value" value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="2" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "null header" value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="4" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."`
	noCopyOfLarge = `  2 partitions
  partition 0 key "k0" value "0000000000" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="0" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "k0" value "0000000000" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="3" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="1" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="2" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."`
	noCopyFromLarge = `  2 partitions
  partition 0 key "k0" value "0000000000" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="0" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="1" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="2" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="3" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."`
)

// numbered are n records of a partition whose values have a length.
func numbered(n int, partition int32, length int) []*kgo.Record {
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Partition: partition, Key: fmt.Append(nil, "k", i), Value: []byte(strings.Repeat(fmt.Sprint(i), length))})
	}
	return rs
}

func deadLetterCases() []deadLetterCase {
	old := time.UnixMilli(1577836800000)
	h := func(kv ...string) []kgo.RecordHeader {
		var hs []kgo.RecordHeader
		for i := 0; i < len(kv); i += 2 {
			hs = append(hs, kgo.RecordHeader{Key: kv[i], Value: []byte(kv[i+1])})
		}
		return hs
	}
	full := []*kgo.Record{
		{Key: []byte("k"), Value: []byte("v"), Headers: h("a", "1", "a", "2", "__dlq.errors.group", "mine"), Timestamp: old},
		{Value: []byte("no key"), Timestamp: old}, {Key: []byte("no value"), Timestamp: old}, {Key: []byte{}, Value: []byte{}, Timestamp: old},
		{Key: []byte("null header"), Headers: []kgo.RecordHeader{{Key: "n"}}, Timestamp: old},
	}
	return []deadLetterCase{
		{name: "plain", queue: enabled(), group: []string{"share.delivery.count.limit=2"},
			records: slices.Concat(numbered(3, 0, 1), numbered(1, 1, 1), numbered(1, 2, 1)),
			decide: func(r *kgo.Record) kgo.AckStatus {
				if r.Partition == 0 {
					return []kgo.AckStatus{kgo.AckReject, kgo.AckRelease, kgo.AckAccept}[r.Offset]
				}
				return kgo.AckReject
			}},
		{name: "copied", queue: enabled(), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: full, decide: reject},
		{name: "compressed", queue: enabled(), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: full, decide: reject, codec: kgo.GzipCompression()},
		{name: "missing", records: numbered(2, 0, 1), decide: reject},
		{name: "closed", queue: map[string]string{}, records: numbered(2, 0, 1), decide: reject},
		{name: "misnamed", queue: enabled(), queueName: "misnamed-letters", records: numbered(2, 0, 1), decide: reject},
		{name: "stamped", queue: enabled("message.timestamp.type=LogAppendTime"), records: numbered(1, 0, 1), decide: reject},
		{name: "compacted", queue: enabled("cleanup.policy=compact"), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: full, decide: reject,
			here: onlyRefusedAreLost},
		{name: "small", queue: enabled("max.message.bytes=700"), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: numbered(5, 0, 100), decide: reject},
		{name: "too-large", queue: enabled("max.message.bytes=700"), group: []string{"errors.deadletterqueue.copy.record.enable=true"},
			records: slices.Concat(numbered(1, 0, 10), numbered(1, 0, 650), numbered(1, 0, 800), numbered(1, 0, 10)), decide: reject,
			here: noCopyOfLarge},
		{name: "too-large-compressed", queue: enabled("max.message.bytes=700"), group: []string{"errors.deadletterqueue.copy.record.enable=true"},
			records: slices.Concat(numbered(1, 0, 10), numbered(1, 0, 650), numbered(1, 0, 800), numbered(1, 0, 10)), decide: reject, codec: kgo.GzipCompression(),
			here: noCopyFromLarge},
		{name: "tiny", queue: enabled("max.message.bytes=100"), records: numbered(2, 0, 10), decide: reject},
		{name: "run-out", queue: enabled(), group: []string{"share.delivery.count.limit=2", "share.record.lock.duration.ms=1000"}, records: numbered(1, 0, 1), hold: true,
			decide: func(*kgo.Record) kgo.AckStatus { return keep }},
		{name: "left", queue: enabled(), group: []string{"share.delivery.count.limit=2"}, records: numbered(1, 0, 1), leave: 2,
			decide: func(r *kgo.Record) kgo.AckStatus {
				if r.DeliveryCount() == 1 {
					return kgo.AckRelease
				}
				return keep
			}},
	}
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

// load has a share partition loaded whose state somebody left in the middle.
func (d *deadLetters) load(name, queue string) {
	d.t.Helper()
	d.leaveOff(name)
	d.fetchOnce(name, queue)
}

// leaveOff has the state of share partition 0 say that letters are on their way.
func (d *deadLetters) leaveOff(name string) {
	d.t.Helper()
	m := &shareMember{t: d.t, cl: d.cl, topic: topicID(d.t, d.cl, name), group: name}
	eventually(d.t, "the state is initialised", func() bool { return m.initialise(d.t.Context()) == nil })
	w, topic, p := kmsg.NewPtrWriteShareGroupStateRequest(), kmsg.NewWriteShareGroupStateRequestTopic(), kmsg.NewWriteShareGroupStateRequestTopicPartition()
	w.GroupID, topic.TopicID, p.StateEpoch, p.StartOffset = name, m.topic, 1, 0
	for _, b := range [][3]int64{{0, 1, 1}, {2, 2, 5}} {
		s := kmsg.NewWriteShareGroupStateRequestTopicPartitionStateBatch()
		s.FirstOffset, s.LastOffset, s.DeliveryState, s.DeliveryCount = b[0], b[1], 3, int16(b[2])
		p.StateBatches = append(p.StateBatches, s)
	}
	topic.Partitions = append(topic.Partitions, p)
	w.Topics = append(w.Topics, topic)
	resp, err := w.RequestWith(d.t.Context(), d.cl)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		d.t.Fatal(err, resp)
	}
}

// fetchOnce fetches for the group, which loads the state, and waits for the letters.
func (d *deadLetters) fetchOnce(name, queue string) {
	d.t.Helper()
	got, err := d.cl.SeedBrokers()[0].Request(d.t.Context(), shareFetchOf(name, "m", 0, topicID(d.t, d.cl, name), 100))
	if err != nil || got.(*kmsg.ShareFetchResponse).ErrorCode != 0 {
		d.t.Fatal(err)
	}
	eventually(d.t, "the letters come", func() bool {
		ends, err := d.admin.ListEndOffsets(d.t.Context(), queue)
		return err == nil && ends[queue][0].Offset >= 3
	})
}

// TestDeadLettersAfterRestart: letters that were under way when the broker ended come after the next start, once the group
// fetches; then the records are archived, and another start delivers nothing again.
func TestDeadLettersAfterRestart(t *testing.T) {
	dir := t.TempDir()
	c := deadLetterCase{name: "dl-r", records: numbered(3, 0, 1)}
	for round := range 3 {
		b := startIn(t, dir, shareProperties())
		d := newDeadLetters(t, b.Addr())
		switch round {
		case 0:
			d.create("dlq.r", 1, enabled())
			d.create(c.name, 1, nil)
			groupConfigs(t, d.cl, c.name, "errors.deadletterqueue.topic.name=dlq.r")
			d.produce(c)
			d.leaveOff(c.name)
		default:
			d.fetchOnce(c.name, "dlq.r")
			eventually(t, "the records are archived", func() bool { return archived(t, d.cl, c.name) == 3 })
			if ends, err := d.admin.ListEndOffsets(t.Context(), "dlq.r"); err != nil || ends["dlq.r"][0].Offset != 3 {
				t.Errorf("after start %d the queue has %+v, %v", round, ends, err)
			}
		}
		stop(t, b)
	}
}

// archived is how many records of share partition 0 are done, as far as the state from its start on tells.
func archived(t *testing.T, cl *kgo.Client, name string) int32 {
	t.Helper()
	r, topic, p := kmsg.NewPtrReadShareGroupStateSummaryRequest(), kmsg.NewReadShareGroupStateSummaryRequestTopic(), kmsg.NewReadShareGroupStateSummaryRequestTopicPartition()
	r.GroupID, topic.TopicID = name, topicID(t, cl, name)
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	resp, err := r.RequestWith(t.Context(), cl)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(err, resp)
	}
	got := resp.Topics[0].Partitions[0]
	return int32(got.StartOffset) + got.DeliveryCompleteCount
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
