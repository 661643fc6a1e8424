package samsa_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// TestX08RepeatsAcrossRestarts: any of the last five batches of a producer that is sent again after a stop in order, and
// after kill -9, is answered with its original offset and append time, and is not appended again.
func TestX08RepeatsAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	broker := startProcess(t, dir, "127.0.0.1:0")
	connect := func() *kgo.Client {
		cl, err := kgo.NewClient(kgo.SeedBrokers(broker.addr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		if err := cl.Ping(t.Context()); err != nil { // it knows the broker by its id from here on
			t.Fatal(err)
		}
		return cl
	}
	cl := connect()
	appendTime := "LogAppendTime"
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, map[string]*string{"message.timestamp.type": &appendTime}, "repeat"); err != nil {
		t.Fatal(err)
	}
	init := kmsg.NewPtrInitProducerIDRequest()
	init.Version, init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = 4, 60000, -1, -1
	id := ask(t, cl, init).(*kmsg.InitProducerIDResponse)
	if err := kerr.ErrorForCode(id.ErrorCode); err != nil {
		t.Fatal(err)
	}
	batch := func(n int) []byte {
		o := record.DefaultBuilderOptions()
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = record.ProducerID(id.ProducerID), record.ProducerEpoch(id.ProducerEpoch), record.Sequence(2*n)
		b := record.NewBuilder(o)
		b.Append(1, nil, fmt.Append(nil, "first of ", n), nil)
		b.Append(1, nil, fmt.Append(nil, "second of ", n), nil)
		return b.Build()
	}
	type answer struct{ offset, ms int64 }
	var first []answer
	send := func(n int) answer {
		t.Helper()
		p := produceBatch(t, cl, "repeat", 0, batch(n))
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
		return answer{p.BaseOffset, p.LogAppendTime}
	}
	repeatAll := func(when string) {
		t.Helper()
		for n := len(first) - 5; n < len(first); n++ {
			if got := send(n); got != first[n] {
				t.Errorf("%s: batch %d was answered %+v at first and %+v now", when, n, first[n], got)
			}
		}
		if end, _ := listOffset(t, cl, "repeat", -1, 0); end != int64(2*len(first)) {
			t.Errorf("%s: the log ends at %d, %d batches of two were sent", when, end, len(first))
		}
	}
	for n := range 7 {
		first = append(first, send(n))
		if a := first[n]; a.offset != int64(2*n) || a.ms <= 0 {
			t.Fatalf("batch %d: %+v", n, a)
		}
	}
	repeatAll("at once")
	for _, how := range []string{"after a stop in order", "after a kill", "after another kill", "after another stop"} {
		cl.Close()
		if strings.Contains(how, "kill") {
			broker.kill()
		} else {
			broker.stop(t)
		}
		broker = startProcess(t, dir, broker.addr)
		cl = connect()
		repeatAll(how)
		first = append(first, send(len(first)))
		repeatAll(how + " and one more batch")
	}
}

// TestR20R11PowerFailure cuts the power under a whole broker while producers write with flush.messages=1, again and again
// as segments roll and topics come: what was acknowledged before is there, where it was acknowledged.
func TestR20R11PowerFailure(t *testing.T) {
	mem := vfs.NewMem()
	start := func(fsys vfs.FS) *samsa.Broker {
		b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stop(t, b) })
		return b
	}
	b := start(mem)
	one, segment := "1", "20000"
	cl := clientOf(t, b, kgo.ProducerBatchMaxBytes(1<<10))
	var mu sync.Mutex
	acked := map[string]string{}
	type cut struct {
		image *vfs.Mem
		acked map[string]string
	}
	var cuts []cut
	for round := range 4 {
		topic := fmt.Sprintf("t%d", round)
		if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 3, 1, map[string]*string{"flush.messages": &one, "internal.segment.bytes": &segment}, topic); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for n := range 300 {
			wg.Add(1)
			r := &kgo.Record{Topic: topic, Partition: int32(n % 3), Value: []byte(fmt.Sprint(topic, " ", n, strings.Repeat("x", 200)))}
			cl.Produce(t.Context(), r, func(r *kgo.Record, err error) {
				defer wg.Done()
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				acked[r.Topic+"/"+place(r)] = string(r.Value)
				if len(acked)%100 == 50 { // what is acknowledged was so before the power went
					known := maps.Clone(acked)
					cuts = append(cuts, cut{mem.Crash(), known}, cut{mem.CrashKeeping(uint64(len(acked))), known})
				}
			})
		}
		wg.Wait()
	}
	cl.Close()
	if len(cuts) < 20 {
		t.Fatalf("only %d power failures", len(cuts))
	}
	for i, c := range cuts {
		checkAcknowledged(t, fmt.Sprint("power failure ", i), start(c.image), c.acked)
	}
	t.Logf("%d power failures, the last with %d records acknowledged", len(cuts), len(cuts[len(cuts)-1].acked))
}

// checkAcknowledged reads all that a broker has.
func checkAcknowledged(t *testing.T, when string, b *samsa.Broker, acked map[string]string) {
	t.Helper()
	topics := map[string]int{}
	for at := range acked {
		topics[at[:strings.IndexByte(at, '/')]]++
	}
	found := 0
	for topic := range topics {
		ends, err := kadm.NewClient(clientOf(t, b)).ListEndOffsets(t.Context(), topic)
		if err != nil || ends.Error() != nil {
			t.Fatal(when, err, ends.Error())
		}
		all := 0
		ends.Each(func(o kadm.ListedOffset) { all += int(o.Offset) })
		for _, r := range consumeAll(t, b, topic, all) {
			at := topic + "/" + place(r)
			if want, ok := acked[at]; ok && want == string(r.Value) {
				found++
			} else if ok {
				t.Errorf("%s: %s holds %.20q, acknowledged there was %.20q", when, at, r.Value, want)
			}
		}
	}
	if found != len(acked) {
		t.Errorf("%s: %d records are there of %d that were acknowledged", when, found, len(acked))
	}
}
