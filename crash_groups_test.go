package samsa_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa/internal/longtest"
)

// What TestCrashGroups copies.
const (
	copyRecords    = 3000
	copyPartitions = 2
	copyMembers    = 2
	copyAtATime    = 20 // records in a transaction
)

// TestCrashGroups kills the broker under consumers that copy a topic in transactions, with groups of both protocols: of every
// transaction both the records and the committed offsets are there or neither, so that the copy has each record once and in order
//
func TestCrashGroups(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash.seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	t.Setenv(processProperties, "group.initial.rebalance.delay.ms=0 group.consumer.min.session.timeout.ms=6000 group.consumer.session.timeout.ms=6000")
	dir := t.TempDir()
	broker := startProcess(t, dir, "127.0.0.1:0")
	addr := broker.addr
	// A member that goes away while there is no broker to tell holds its partitions for a session, and its offsets for a
	// transaction's timeout: short ones.
	copies := []*copying{newCopying(t, addr, "classic", kgo.SessionTimeout(6*time.Second)), newCopying(t, addr, "consumer", kgo.ServerSideBalancer())}
	rounds := longtest.Pick(6, 60)
	for round := range rounds {
		for _, c := range copies {
			target := int64(copyRecords/(rounds+1)*round + random.IntN(copyRecords/(rounds+1)))
			eventually(t, c.name+": the copy grows", func() bool { return c.committed.Load() >= target })
		}
		broker.kill()
		broker = startProcess(t, dir, addr)
	}
	for _, c := range copies {
		c.finish(t)
	}
}

// copying is a group whose members copy the topic of its name to one called …-copy.
type copying struct {
	name, addr string
	opts       []kgo.Opt
	committed  atomic.Int64 // records in transactions whose commit was confirmed
	stop       context.CancelFunc
	members    sync.WaitGroup
}

func newCopying(t *testing.T, addr, name string, opts ...kgo.Opt) *copying {
	t.Helper()
	c := &copying{name: name, addr: addr, opts: opts}
	cl := clientAt(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if _, err := kadm.NewClient(cl).CreateTopics(t.Context(), copyPartitions, 1, nil, name, name+"-copy"); err != nil {
		t.Fatal(err)
	}
	records := make([]*kgo.Record, copyRecords)
	for i := range records {
		records[i] = &kgo.Record{Topic: name, Partition: int32(i % copyPartitions), Value: fmt.Append(nil, i)}
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.stop = cancel
	for member := range copyMembers {
		c.members.Go(func() { c.member(ctx, t, member) })
	}
	t.Cleanup(func() { cancel(); c.members.Wait() })
	return c
}

// member copies until the context ends, with a new session whenever the one before has failed for good.
func (c *copying) member(ctx context.Context, t *testing.T, member int) {
	for ctx.Err() == nil {
		opts := append([]kgo.Opt{kgo.SeedBrokers(c.addr), kgo.TransactionalID(fmt.Sprintf("%s-%d", c.name, member)), kgo.TransactionTimeout(3 * time.Second), kgo.ConsumerGroup(c.name), kgo.ConsumeTopics(c.name),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequireStableFetchOffsets(),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(20 * time.Millisecond)}, c.opts...)
		session, err := kgo.NewGroupTransactSession(opts...)
		if err != nil {
			t.Error(err)
			return
		}
		for err == nil && ctx.Err() == nil {
			err = c.transaction(ctx, session)
		}
		if ctx.Err() == nil {
			t.Logf("%s: member %d begins again: %v", c.name, member, err)
		}
		session.Close()
	}
}

// transaction copies what one poll brings. An error ends the session.
func (c *copying) transaction(ctx context.Context, session *kgo.GroupTransactSession) error {
	fetched := session.PollRecords(ctx, copyAtATime)
	if fetched.NumRecords() == 0 {
		return ctx.Err()
	}
	if err := session.Begin(); err != nil {
		return err
	}
	var failed atomic.Bool
	fetched.EachRecord(func(r *kgo.Record) {
		session.Produce(ctx, &kgo.Record{Topic: c.name + "-copy", Partition: r.Partition, Value: r.Value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(true)
			}
		})
	})
	if err := session.Client().Flush(ctx); err != nil {
		failed.Store(true)
	}
	committed, err := session.End(ctx, kgo.TransactionEndTry(!failed.Load()))
	if committed {
		c.committed.Add(int64(fetched.NumRecords()))
	}
	return err
}

// finish waits for the whole copy and compares it.
func (c *copying) finish(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reader := clientAt(t, c.addr, kgo.ConsumeTopics(c.name+"-copy"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	next, got := map[int32]int{0: 0, 1: 1}, 0
	for got < copyRecords {
		fetched := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%s: %d of %d records were copied", c.name, got, copyRecords)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			if want := fmt.Sprint(next[r.Partition]); string(r.Value) != want {
				t.Fatalf("%s: at %d of partition %d of the copy stands %s instead of %s", c.name, r.Offset, r.Partition, r.Value, want)
			}
			next[r.Partition] += copyPartitions
			got++
		})
	}
	c.stop()
	c.members.Wait()
}

// clientAt is a client of the broker at addr that is closed when the test ends.
func clientAt(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
