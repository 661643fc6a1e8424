package samsa_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/longtest"
)

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

// TestDeadLettersNeedShareVersion2: below that, what is given up is archived and nothing else, as it was before KIP-1191.
func TestDeadLettersNeedShareVersion2(t *testing.T) {
	d := newDeadLetters(t, startBroker(t, shareProperties()).Addr())
	r, f := kmsg.NewPtrUpdateFeaturesRequest(), kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType = "share.version", 1, 2
	r.FeatureUpdates = append(r.FeatureUpdates, f)
	if resp, err := r.RequestWith(t.Context(), d.cl); err != nil || resp.ErrorCode != 0 {
		t.Fatal(err, resp)
	}
	d.run(deadLetterCase{name: "old", queue: enabled(), records: numbered(2, 0, 1), decide: reject})
	if got := d.out.String(); got != "  2 partitions\n" {
		t.Error(got)
	}
}

// G-09: kill -9 while records are given up: in the end there is a letter about each of them, and none is delivered any more.
func TestG09KilledBrokerAndDeadLetters(t *testing.T) {
	rounds, perRound := longtest.Pick(2, 20), 300
	dir := t.TempDir()
	process := startShareProcess(t, dir)
	d := newDeadLetters(t, process.addr)
	d.create("dlq.killed", 1, enabled())
	d.create("killed", 1, nil)
	groupConfigs(t, d.cl, "killed", "errors.deadletterqueue.topic.name=dlq.killed", "errors.deadletterqueue.copy.record.enable=true")
	ctx, cancel := context.WithCancel(t.Context())
	var consuming sync.WaitGroup
	for range 2 {
		cl := shareConsumer(t, process.addr, "killed", "killed", kgo.ShareMaxRecords(20), kgo.ShareMaxRecordsStrict(), kgo.RetryTimeout(2*time.Second))
		consuming.Go(func() {
			for ctx.Err() == nil {
				for _, r := range cl.PollRecords(ctx, 20).Records() {
					r.Ack(kgo.AckReject)
				}
				flush, done := context.WithTimeout(context.Background(), 5*time.Second)
				_ = cl.FlushAcks(flush) // what could not be acknowledged comes again
				done()
			}
		})
	}
	letters := func() int64 {
		ends, err := d.admin.ListEndOffsets(t.Context(), "dlq.killed")
		if err != nil {
			return 0
		}
		return ends["dlq.killed"][0].Offset
	}
	for round := range rounds {
		d.produce(deadLetterCase{name: "killed", records: numbered(perRound, 0, 1)})
		eventually(t, "some letters come", func() bool { return letters() > int64(round*perRound+perRound/3) })
		process.kill()
		process = startProcess(t, dir, process.addr)
	}
	eventually(t, "the broker is back", func() bool { return d.cl.Ping(t.Context()) == nil })
	eventually(t, "the group is done", func() bool { return shareLag(t, d.cl, "killed", "killed") == 0 })
	cancel()
	consuming.Wait()
	about := map[string]int{}
	cl := shareClient(t, process.addr, kgo.ConsumeTopics("dlq.killed"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for left := letters(); left > 0; {
		for _, r := range cl.PollFetches(t.Context()).Records() {
			about[string(r.Headers[2].Value)]++
			left--
		}
	}
	again := 0
	for o := range rounds * perRound {
		switch n := about[strconv.Itoa(o)]; {
		case n == 0:
			t.Errorf("there is no letter about offset %d", o)
		case n > 1:
			again++
		}
	}
	t.Logf("%d records, %d of them with more than one letter, %d kills", rounds*perRound, again, rounds)
}
