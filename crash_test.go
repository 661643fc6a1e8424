package samsa_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa/internal/longtest"
)

var (
	crashRounds = flag.Int("crash.rounds", 0, "how often TestCrash kills the broker; 0: 8 times, 50 in the long form")
	crashSeed   = flag.Uint64("crash.seed", 0, "seed of the moments at which TestCrash kills; 0: a new one")
)

// What TestCrash writes to: topics with and without an fsync before the acknowledgement, in small segments.
const (
	crashTopics     = 2
	crashPartitions = 2
	crashWriters    = 3
)

func crashTopic(i int) string { return [crashTopics]string{"plain", "synced"}[i%crashTopics] }

// TestCrash kills the broker at random moments, also while it starts, and stops it in order before its clients are back, under idempotent producers with several batches in
// flight, and accounts for everything: what was acknowledged is there, once, where it was acknowledged and in the order
// in which each producer sent it, offsets have no gap, a reader that stays on never sees one go back, and the leader epochs rise
// (R-28, X-07, F-10). Apache Kafka 4.4.0 does not pass it.
//
//	go test -run 'TestCrash$' -crash.rounds 50 .
func TestCrash(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash.seed %d", seed)
	j := newJudge(t, seed)
	rounds := *crashRounds
	if rounds == 0 {
		rounds = longtest.Pick(8, 50)
	}
	for range rounds {
		j.round()
	}
	j.finish()
}

// judge runs a broker, its clients and the account.
type judge struct {
	t       *testing.T
	rand    *rand.Rand
	dir     string
	broker  *brokerProcess
	addr    string
	writers []*writer
	readers map[string]*watcher
	stop    atomic.Bool
	writing sync.WaitGroup
	acked   atomic.Int64
	epochs  map[string]int32
	kills   int // of a broker that was serving
	early   int // of one that was starting
	stops   int // in order, of one that had just started
	faults  int
}

// writer is an idempotent producer that goes on until it is stopped.
type writer struct {
	id int
	cl *kgo.Client
	mu sync.Mutex
	// at is where each record was acknowledged, by its value.
	at   map[string]string
	sent int
	errs []error
}

func newJudge(t *testing.T, seed uint64) *judge {
	// Recovery begins at the last roll and not at the begin.
	t.Setenv(processProperties, "log.flush.offset.checkpoint.interval.ms=20 log.initial.task.delay.ms=0")
	j := &judge{t: t, rand: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), readers: map[string]*watcher{}, epochs: map[string]int32{}}
	j.broker = startProcess(t, j.dir, "127.0.0.1:0")
	j.addr = j.broker.addr
	admin := kadm.NewClient(j.client())
	one, segment := "1", "65536"
	for i := range crashTopics {
		configs := map[string]*string{"internal.segment.bytes": &segment}
		if crashTopic(i) == "synced" {
			configs["flush.messages"] = &one
		}
		if _, err := admin.CreateTopic(t.Context(), crashPartitions, 1, configs, crashTopic(i)); err != nil {
			t.Fatal(err)
		}
		j.readers[crashTopic(i)] = watch(t, j.addr, crashTopic(i))
	}
	j.checkEpochs()
	for id := range crashWriters {
		w := &writer{id: id, at: map[string]string{}}
		w.cl = j.client(kgo.ProducerBatchMaxBytes(8<<10), kgo.MaxBufferedRecords(400), kgo.ProducerLinger(0),
			kgo.ProducerBatchCompression(kgo.NoCompression()))
		j.writers = append(j.writers, w)
		j.writing.Go(func() { j.write(w) })
	}
	t.Cleanup(func() { j.stop.Store(true); j.closeWriters() })
	return j
}

func (j *judge) closeWriters() {
	for _, w := range j.writers {
		w.cl.Close() // fails what is buffered, so that write ends
	}
	j.writing.Wait()
}

func (j *judge) client(opts ...kgo.Opt) *kgo.Client {
	j.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(j.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20 * time.Millisecond), kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond })}, opts...)...)
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(cl.Close)
	return cl
}

// write produces numbered records to all partitions in turn, as fast as the client lets it.
func (j *judge) write(w *writer) {
	padding := strings.Repeat("x", 600)
	for n := 0; !j.stop.Load(); n++ {
		value := fmt.Sprintf("%d %d %s", w.id, n, padding[:(n*37)%600])
		w.mu.Lock()
		w.sent++
		w.mu.Unlock()
		r := &kgo.Record{Topic: crashTopic(n), Partition: int32(n/crashTopics) % crashPartitions, Value: []byte(value)}
		w.cl.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.errs = append(w.errs, err)
				return
			}
			w.at[value] = r.Topic + "/" + place(r)
			j.acked.Add(1)
		})
	}
}

// round kills the broker once some records more are acknowledged, and now and then the next one while it starts. One that is
// stopped before the clients repeat what they had in flight leaves producer snapshots that know one batch of each.
func (j *judge) round() {
	target := j.acked.Load() + 1 + j.rand.Int64N(3000)
	j.wait("acknowledgements", func() bool { return j.acked.Load() >= target })
	j.broker.kill()
	j.kills++
	for j.rand.IntN(3) == 0 {
		j.killEarly(time.Duration(j.rand.Int64N(int64(80 * time.Millisecond))))
		j.early++
	}
	j.broker = startProcess(j.t, j.dir, j.addr)
	for j.rand.IntN(2) == 0 {
		j.broker.stop(j.t)
		j.stops++
		j.broker = startProcess(j.t, j.dir, j.addr)
	}
	j.checkEpochs()
}

// killEarly starts a broker and kills it after d, whatever it has come to by then.
func (j *judge) killEarly(d time.Duration) {
	cmd := exec.CommandContext(j.t.Context(), os.Args[0], "-test.run=^TestBrokerProcess$")
	cmd.Env = append(os.Environ(), processDir+"="+j.dir, processListen+"="+j.addr)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		j.t.Fatal(err)
	}
	defer stdin.Close()
	<-time.After(d)
	if err := cmd.Process.Kill(); err != nil {
		j.t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// wait is eventually with more patience: a broker and its clients find each other again in between.
func (j *judge) wait(what string, ok func() bool) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			j.t.Fatalf("never came: %s; the account so far: %s", what, j.counts())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// checkEpochs asks a fresh client for the leader epochs, which grow with every start (F-10).
func (j *judge) checkEpochs() {
	j.t.Helper()
	cl := j.client()
	defer cl.Close()
	topics, err := kadm.NewClient(cl).ListTopics(j.t.Context(), crashTopic(0), crashTopic(1))
	if err != nil {
		j.t.Fatal(err)
	}
	seen := 0
	for _, p := range topics.TopicsSet().Sorted() {
		for n, d := range topics[p.Topic].Partitions {
			key := fmt.Sprintf("%s-%d", p.Topic, n)
			if before, ok := j.epochs[key]; d.Err != nil || ok && d.LeaderEpoch <= before || d.LeaderEpoch < 0 {
				j.t.Errorf("leader epoch of %s is %d, it was %d; %v", key, d.LeaderEpoch, before, d.Err)
			}
			j.epochs[key] = d.LeaderEpoch
			seen++
		}
	}
	if seen != crashTopics*crashPartitions {
		j.t.Errorf("%d partitions are listed", seen)
	}
}

func (j *judge) counts() string {
	sent, acked, failed := 0, 0, 0
	for _, w := range j.writers {
		w.mu.Lock()
		sent, acked, failed = sent+w.sent, acked+len(w.at), failed+len(w.errs)
		w.mu.Unlock()
	}
	return fmt.Sprintf("killed %d times serving and %d times starting, stopped %d times; %d records sent, %d acknowledged, %d failed", j.kills, j.early, j.stops, sent, acked, failed)
}

// fault is Errorf for what can be wrong a thousand times.
func (j *judge) fault(format string, args ...any) {
	j.t.Helper()
	if j.faults++; j.faults <= 20 {
		j.t.Errorf(format, args...)
	}
}

// finish lets the writers end, and reads everything back.
func (j *judge) finish() {
	j.stop.Store(true)
	j.writing.Wait()
	ctx, cancel := context.WithTimeout(j.t.Context(), time.Minute)
	defer cancel()
	var errs []error
	acked := map[string]string{}
	for _, w := range j.writers {
		errs = append(errs, w.cl.Flush(ctx))
		w.mu.Lock()
		errs = append(errs, w.errs...)
		if len(w.at) != w.sent {
			errs = append(errs, fmt.Errorf("writer %d has sent %d records, %d were acknowledged", w.id, w.sent, len(w.at)))
		}
		maps.Copy(acked, w.at)
		w.mu.Unlock()
	}
	if err := errors.Join(errs...); err != nil {
		j.fault("no error is final for a producer that may retry: %v", err)
	}
	j.t.Log(j.counts())
	for i := range crashTopics {
		topic := crashTopic(i)
		fresh := watch(j.t, j.addr, topic)
		ends, err := kadm.NewClient(j.client()).ListEndOffsets(ctx, topic)
		if err != nil || ends.Error() != nil {
			j.t.Fatal(err, ends.Error())
		}
		all := 0
		ends.Each(func(o kadm.ListedOffset) { all += int(o.Offset) })
		j.wait("the end of "+topic, func() bool { return fresh.count() >= all && j.readers[topic].count() >= all })
		j.judge(topic, acked, fresh.stop(), j.readers[topic].stop())
		for value, at := range acked {
			if strings.HasPrefix(at, topic+"/") {
				j.fault("%.20q, acknowledged at %s, is lost", value, at)
			}
		}
	}
	if j.faults > 20 {
		j.t.Errorf("%d faults in all", j.faults)
	}
}

// judge compares what two readers saw of a topic, one of which was there all the time, with what was acknowledged, and
// takes what it finds out of acked.
func (j *judge) judge(topic string, acked map[string]string, fresh, live []*kgo.Record) {
	next, order := map[int32]int64{}, map[string]int{}
	for _, r := range fresh {
		value := string(r.Value)
		if r.Offset != next[r.Partition] {
			j.fault("%s/%s: the offset before was %d", topic, place(r), next[r.Partition]-1)
		}
		next[r.Partition] = r.Offset + 1
		if at, ok := acked[value]; !ok {
			j.fault("%.20q at %s/%s stands twice, or was not acknowledged", value, topic, place(r))
		} else if at != topic+"/"+place(r) {
			j.fault("%.20q stands at %s/%s and was acknowledged at %s", value, topic, place(r), at)
		}
		delete(acked, value)
		fields := strings.Fields(value)
		n, err := strconv.Atoi(fields[1])
		key := fmt.Sprint(fields[0], " ", r.Partition)
		if last, ok := order[key]; err != nil || ok && n <= last {
			j.fault("%s/%s: record %d of writer %s comes after %d", topic, place(r), n, fields[0], last)
		}
		order[key] = n
	}
	byPlace := func(records []*kgo.Record) map[int32][]string {
		out := map[int32][]string{}
		for _, r := range records {
			out[r.Partition] = append(out[r.Partition], fmt.Sprint(r.Offset, " ", string(r.Value)))
		}
		return out
	}
	was := byPlace(live)
	for p, list := range byPlace(fresh) {
		if !slices.Equal(was[p], list) {
			j.fault("%s-%d: the reader that was there all the time saw %d records, or others, of %d", topic, p, len(was[p]), len(list))
		}
	}
}
