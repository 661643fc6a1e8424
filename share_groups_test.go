package samsa_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/longtest"
)

// shareProperties have share groups come up fast, and let locks be short.
func shareProperties() map[string]string {
	return map[string]string{
		"share.coordinator.state.topic.num.partitions": "2", "offsets.topic.num.partitions": "2",
		"group.share.heartbeat.interval.ms": "100", "group.share.min.heartbeat.interval.ms": "100", "group.share.assignment.interval.ms": "0",
		"group.share.min.record.lock.duration.ms": "1000",
	}
}

// groupConfigs sets configs of a group, share.auto.offset.reset=earliest among them.
func groupConfigs(t *testing.T, cl *kgo.Client, group string, configs ...string) {
	t.Helper()
	if err := tryGroupConfigs(t, cl, group, configs...); err != nil {
		t.Fatal(err)
	}
}

func tryGroupConfigs(t *testing.T, cl *kgo.Client, group string, configs ...string) error {
	t.Helper()
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	g := kmsg.NewIncrementalAlterConfigsRequestResource()
	g.ResourceType, g.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	for _, c := range append(configs, "share.auto.offset.reset=earliest") {
		k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		name, value, _ := strings.Cut(c, "=")
		k.Name, k.Value = name, &value
		g.Configs = append(g.Configs, k)
	}
	r.Resources = append(r.Resources, g)
	resp, err := r.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(resp.Resources[0].ErrorCode)
}

// shareConsumer joins a share group.
func shareConsumer(t *testing.T, addr, group, topic string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr), kgo.ShareGroup(group), kgo.ConsumeTopics(topic), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.FetchMaxWait(200*time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// polled are the records of the next poll that has any.
func polled(t *testing.T, cl *kgo.Client, most int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		fs := cl.PollRecords(ctx, most)
		if rs := fs.Records(); len(rs) > 0 {
			return rs
		}
	}
	t.Fatal("no records come")
	return nil
}

func flushAcks(t *testing.T, cl *kgo.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := cl.FlushAcks(ctx); err != nil {
		t.Fatal(err)
	}
}

// shareLag is how many records of partition 0 of a topic are not done, as told for a group.
func shareLag(t *testing.T, cl *kgo.Client, group, topic string) int64 {
	t.Helper()
	return shareLagOf(t, cl, group, topic, 0)
}

func shareLagOf(t *testing.T, cl *kgo.Client, group, topic string, partition int32) int64 {
	t.Helper()
	r := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	g, x := kmsg.NewDescribeShareGroupOffsetsRequestGroup(), kmsg.NewDescribeShareGroupOffsetsRequestGroupTopic()
	x.Topic, x.Partitions = topic, []int32{partition}
	g.GroupID, g.Topics = group, append(g.Topics, x)
	r.Groups = append(r.Groups, g)
	resp, err := r.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	p := resp.Groups[0].Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		t.Fatal(p.ErrorCode)
	}
	return p.Lag
}

// G-09: deliveries are counted: what is released comes again with a higher count until it is given up, what is rejected
// does not, and neither does what is accepted. What is done is told as the group's offsets.
func TestG09DeliveriesAreCounted(t *testing.T) {
	b := startBroker(t, shareProperties())
	admin := clientOf(t, b)
	createTopic(t, admin, "counted", 1)
	groupConfigs(t, admin, "g", "share.delivery.count.limit=3")
	produceNumbers(t, admin, "counted", 0, 3, 1)
	cl := shareConsumer(t, b.Addr(), "g", "counted")
	counts := map[int64][]int32{}
	for len(counts[2]) < 3 {
		for _, r := range polled(t, cl, 10) {
			counts[r.Offset] = append(counts[r.Offset], r.DeliveryCount())
			r.Ack([]kgo.AckStatus{kgo.AckAccept, kgo.AckReject, kgo.AckRelease}[r.Offset])
		}
		flushAcks(t, cl)
	}
	produceNumbers(t, admin, "counted", 3, 1, 1)
	r := polled(t, cl, 10)
	if len(r) != 1 || r[0].Offset != 3 || r[0].DeliveryCount() != 1 {
		t.Errorf("after the third delivery comes %v", r)
	}
	if got := fmt.Sprint(counts); got != "map[0:[1] 1:[1] 2:[1 2 3]]" {
		t.Errorf("deliveries %s", got)
	}
	if lag := shareLag(t, admin, "g", "counted"); lag != 1 {
		t.Errorf("the group is %d records behind", lag)
	}
	r[0].Ack(kgo.AckAccept)
	flushAcks(t, cl)
	if lag := shareLag(t, admin, "g", "counted"); lag != 0 {
		t.Errorf("in the end the group is %d records behind", lag)
	}
}

// G-09: a record whose lock has run out comes to somebody else, counted; one whose lock is renewed does not.
func TestG09LocksRunOutAndAreRenewed(t *testing.T) {
	b := startBroker(t, shareProperties())
	admin := clientOf(t, b)
	createTopic(t, admin, "locked", 1)
	groupConfigs(t, admin, "g", "share.record.lock.duration.ms=1000")
	if err := admin.ProduceSync(t.Context(), &kgo.Record{Topic: "locked"}, &kgo.Record{Topic: "locked"}).FirstErr(); err != nil { // one batch
		t.Fatal(err)
	}
	slow := shareConsumer(t, b.Addr(), "g", "locked", kgo.ShareMaxRecordsStrict()) // it fetches nothing but what is polled
	held := polled(t, slow, 2)
	if len(held) != 2 {
		t.Fatalf("%d records come", len(held))
	}
	other := shareConsumer(t, b.Addr(), "g", "locked")
	stop := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				held[1].Ack(kgo.AckRenew)
				if err := slow.FlushAcks(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	got := polled(t, other, 10)
	if len(got) != 1 || got[0].Offset != held[0].Offset || got[0].DeliveryCount() != 2 {
		t.Errorf("somebody else gets %d records, the first with offset %d for the %d. time", len(got), got[0].Offset, got[0].DeliveryCount())
	}
	got[0].Ack(kgo.AckAccept)
	flushAcks(t, other)
	if err := admin.ProduceSync(t.Context(), &kgo.Record{Topic: "locked"}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	got = polled(t, other, 10)
	if len(got) != 1 || got[0].Offset != 2 {
		t.Errorf("somebody else gets %d records next, the first with offset %d", len(got), got[0].Offset)
	}
	got[0].Ack(kgo.AckAccept)
	flushAcks(t, other)
	close(stop)
	renewing.Wait()
	held[1].Ack(kgo.AckAccept)
	flushAcks(t, slow)
	if lag := shareLag(t, admin, "g", "locked"); lag != 0 {
		t.Errorf("in the end the group is %d records behind", lag)
	}
}

// No more records are handed out at a time than a group may hold, however many are asked for; with those that are done there
// is room for more, and each comes once.
func TestShareRecordLimits(t *testing.T) {
	b := startBroker(t, shareProperties())
	admin := clientOf(t, b, kgo.ProducerBatchMaxBytes(1<<10))
	createTopic(t, admin, "limited", 1)
	groupConfigs(t, admin, "g", "share.partition.max.record.locks=100")
	const n = 1000
	produceNumbers(t, admin, "limited", 0, n, 1)
	cl := shareConsumer(t, b.Addr(), "g", "limited", kgo.ShareMaxRecords(500), kgo.ShareMaxRecordsStrict())
	seen, most := map[int64]bool{}, 0
	for len(seen) < n {
		rs := polled(t, cl, -1)
		if len(rs) > 100 {
			t.Fatalf("%d records come at once", len(rs))
		}
		for _, r := range rs {
			if r.DeliveryCount() != 1 || seen[r.Offset] {
				t.Fatalf("offset %d comes again", r.Offset)
			}
			seen[r.Offset] = true
		}
		most = max(most, len(rs))
		for _, r := range rs {
			r.Ack(kgo.AckAccept)
		}
		flushAcks(t, cl)
	}
	if most != 100 {
		t.Errorf("at most %d records came at once, the group may hold 100", most)
	}
	if lag := shareLag(t, admin, "g", "limited"); lag != 0 {
		t.Errorf("in the end the group is %d records behind", lag)
	}
}

// Members share the records of a partition: with more members than partitions everybody has work, each record is delivered
// once, and a member that comes or goes changes nothing of that.
func TestShareGroupMembersComeAndGo(t *testing.T) {
	b := startBroker(t, shareProperties())
	admin := clientOf(t, b)
	createTopic(t, admin, "crowd", 2)
	groupConfigs(t, admin, "g")
	var mu sync.Mutex
	deliveries, byMember := map[string]int{}, map[int]int{}
	var consuming sync.WaitGroup
	consume := func(member int) (stop func()) {
		cl := shareConsumer(t, b.Addr(), "g", "crowd", kgo.ShareMaxRecords(5), kgo.ShareMaxRecordsStrict())
		ctx, cancel := context.WithCancel(context.Background())
		var one sync.WaitGroup
		consuming.Add(1)
		one.Go(func() {
			defer consuming.Done()
			for ctx.Err() == nil {
				for _, r := range cl.PollRecords(ctx, 5).Records() {
					mu.Lock()
					deliveries[string(r.Value)]++
					byMember[member]++
					mu.Unlock()
					r.Ack(kgo.AckAccept)
				}
				_ = cl.FlushAcks(context.Background())
			}
		})
		return func() { cancel(); one.Wait(); cl.Close() }
	}
	var stops []func()
	for m := range 4 {
		stops = append(stops, consume(m))
	}
	members := func(n int) func() bool {
		return func() bool {
			g, err := kadm.NewClient(admin).DescribeShareGroups(t.Context(), "g")
			return err == nil && len(g["g"].Members) == n
		}
	}
	eventually(t, "all have joined", members(4))
	const n = 2000
	for i := range 4 {
		produceNumbers(t, admin, "crowd", i*n/4, n/4, 2)
		if i == 1 {
			stops[0]()
			eventually(t, "one has left", members(3))
		}
		if i == 2 {
			stops = append(stops, consume(4))
		}
	}
	// On a busy machine two members may have been quicker than the others until here.
	produced := n
	eventually(t, "more members than partitions have had work", func() bool {
		mu.Lock()
		working := len(byMember)
		mu.Unlock()
		if working < 3 {
			produceNumbers(t, admin, "crowd", produced, 20, 2)
			produced += 20
		}
		return working >= 3
	})
	eventually(t, "all records are delivered", func() bool { mu.Lock(); defer mu.Unlock(); return len(deliveries) == produced })
	for _, stop := range stops {
		stop()
	}
	consuming.Wait()
	eventually(t, "all have left", members(0))
}

// startShareProcess starts a process, and sets what the ones after it are started with, that serves share groups as
// shareProperties says.
func startShareProcess(t *testing.T, dir string) *brokerProcess {
	t.Helper()
	var set []string
	for k, v := range shareProperties() {
		set = append(set, k+"="+v)
	}
	t.Setenv(processProperties, strings.Join(set, " "))
	return startProcess(t, dir, "127.0.0.1:0")
}

// G-09: kill -9 in the middle of records that are handed out: nothing is lost, and what was accepted does not come again.
func TestG09KilledBrokerAndShareConsumers(t *testing.T) {
	rounds, perRound := longtest.Pick(2, 20), 500
	dir := t.TempDir()
	process := startShareProcess(t, dir)
	addr := process.addr
	admin, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("shared"), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.ProducerBatchMaxBytes(2<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	createTopic(t, admin, "shared", 1)
	groupConfigs(t, admin, "g")

	var mu sync.Mutex
	accepted, delivered, twice := map[int64]bool{}, map[int64]int{}, 0
	ctx, cancel := context.WithCancel(t.Context())
	var consuming sync.WaitGroup
	for range 2 {
		var refused atomic.Bool // one of the acknowledgements since the last poll
		cl := shareConsumer(t, addr, "g", "shared", kgo.ShareMaxRecords(40), kgo.ShareMaxRecordsStrict(), kgo.RetryTimeout(2*time.Second),
			kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
				if !results.Ok() {
					refused.Store(true)
				}
			}))
		consuming.Go(func() {
			for ctx.Err() == nil {
				rs := cl.PollRecords(ctx, 40).Records()
				mu.Lock()
				for _, r := range rs {
					if delivered[r.Offset]++; accepted[r.Offset] {
						twice++
					}
				}
				mu.Unlock()
				refused.Store(false)
				for _, r := range rs {
					r.Ack(kgo.AckAccept)
				}
				flush, done := context.WithTimeout(context.Background(), 5*time.Second)
				err := cl.FlushAcks(flush)
				done()
				if err != nil || refused.Load() {
					continue
				}
				mu.Lock()
				for _, r := range rs {
					accepted[r.Offset] = true
				}
				mu.Unlock()
			}
		})
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(accepted) }
	for round := range rounds {
		for i := range perRound {
			admin.Produce(context.WithoutCancel(t.Context()), &kgo.Record{Value: []byte(strconv.Itoa(round*perRound + i))}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		eventually(t, "some records are accepted", func() bool { return count() > round*perRound+perRound/3 })
		process.kill()
		process = startProcess(t, dir, addr)
	}
	if err := admin.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker is back", func() bool { return admin.Ping(t.Context()) == nil })
	// An acknowledgement that a kill left without an answer may have been taken: then its record does not come again.
	eventually(t, "all records are done", func() bool { return shareLag(t, admin, "g", "shared") == 0 })
	cancel()
	consuming.Wait()
	again := 0
	for o := range int64(rounds * perRound) {
		if delivered[o] == 0 {
			t.Errorf("offset %d was never delivered", o)
		} else if delivered[o] > 1 {
			again++
		}
	}
	if twice > 0 {
		t.Errorf("%d records came again after they were accepted", twice)
	}
	t.Logf("%d records, %d of them delivered more than once, %d kills", rounds*perRound, again, rounds)
}
