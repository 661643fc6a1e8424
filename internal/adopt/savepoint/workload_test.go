package savepoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

// workload is a broker on directories of a file system in memory, with clients that do at random what clients do.
type workload struct {
	t    *testing.T
	seed uint64
	fs   vfs.FS
	dirs []string

	r      *rand.Rand
	broker *samsa.Broker
	client *kgo.Client
	admin  *kadm.Client
	topics []string
}

// properties make a broker that rolls, retains, compacts and forgets within a test.
func properties() map[string]string {
	return map[string]string{
		"log.retention.check.interval.ms": "5", "log.cleaner.backoff.ms": "5", "log.initial.task.delay.ms": "1", "file.delete.delay.ms": "1",
		"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2", "share.coordinator.state.topic.num.partitions": "1",
		"group.initial.rebalance.delay.ms": "0", "metadata.log.max.record.bytes.between.snapshots": "20000",
		"log.index.size.max.bytes": "24000", "log.flush.offset.checkpoint.interval.ms": "50",
	}
}

func (w *workload) start() {
	w.t.Helper()
	b, err := samsa.Start(context.Background(), samsa.Config{Dirs: w.dirs, Listen: "127.0.0.1:0", FS: w.fs, Properties: properties(), Logger: slog.New(slog.DiscardHandler)})
	must(w.t, err)
	w.broker = b
	w.client, err = kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.TransactionalID("work"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must(w.t, err)
	w.admin = kadm.NewClient(w.client)
}

func (w *workload) stop() {
	w.t.Helper()
	w.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(w.t, w.broker.Shutdown(ctx))
}

// run is so many lives of a broker, each with some twenty acts.
func (w *workload) run(lives int) {
	w.t.Helper()
	w.r = rand.New(rand.NewPCG(w.seed, 77))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range lives {
		w.start()
		for range 20 {
			if err := w.act(ctx); err != nil {
				w.t.Fatalf("seed %d: %v", w.seed, err)
			}
		}
		w.stop()
	}
}

func (w *workload) act(ctx context.Context) error {
	switch n := w.r.IntN(10); {
	case n < 2 || len(w.topics) == 0:
		return w.create(ctx)
	case n == 2:
		return w.drop(ctx)
	case n == 3:
		return w.trim(ctx)
	case n == 4:
		offsets := make(kadm.Offsets)
		offsets.AddOffset(w.topics[0], 0, w.r.Int64N(100), -1)
		return w.admin.CommitAllOffsets(ctx, "workers", offsets)
	default:
		return w.produce(ctx)
	}
}

func (w *workload) create(ctx context.Context) error {
	name := fmt.Sprintf("made-%d-%d", w.seed, w.r.Uint32())
	configs := map[string]*string{"internal.segment.bytes": new("3000")}
	switch w.r.IntN(3) {
	case 0:
		configs["cleanup.policy"], configs["min.cleanable.dirty.ratio"] = new("compact"), new("0.01")
	case 1:
		configs["retention.bytes"] = new("5000")
	}
	if w.r.IntN(4) == 0 {
		configs["preallocate"] = new("true")
	}
	resp, err := w.admin.CreateTopic(ctx, 1+int32(w.r.IntN(2)), 1, configs, name)
	if err = errors.Join(err, resp.Err); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	w.topics = append(w.topics, name)
	return nil
}

func (w *workload) drop(ctx context.Context) error {
	i := w.r.IntN(len(w.topics))
	_, err := w.admin.DeleteTopic(ctx, w.topics[i])
	w.topics = append(w.topics[:i], w.topics[i+1:]...)
	return err
}

func (w *workload) trim(ctx context.Context) error {
	offsets := make(kadm.Offsets)
	offsets.AddOffset("first", 0, 1, -1)
	_, err := w.admin.DeleteRecords(ctx, offsets)
	return err
}

// produce commits or aborts a transaction of some records, also into topics that were there when the savepoint was made.
func (w *workload) produce(ctx context.Context) error {
	if err := w.client.BeginTransaction(); err != nil {
		return err
	}
	for range 1 + w.r.IntN(8) {
		topic := "first"
		if w.r.IntN(4) > 0 {
			topic = w.topics[w.r.IntN(len(w.topics))]
		}
		rec := &kgo.Record{Topic: topic, Key: []byte{byte(w.r.IntN(5))}, Value: make([]byte, w.r.IntN(2000))}
		if err := w.client.ProduceSync(ctx, rec).FirstErr(); err != nil {
			return fmt.Errorf("produce to %s: %w", topic, err)
		}
	}
	return w.client.EndTransaction(ctx, w.r.IntN(3) > 0)
}

// Whatever a broker does, orderly or not, the rollback gives back every byte.
func TestRollbackAfterRandomWork(t *testing.T) {
	for seed := range longtest.Pick(uint64(2), uint64(40)) {
		mem := vfs.NewMem()
		unpack(t, mem, []string{"kafka-4.4.0-clean", "kafka-4.4.0-killed", "kafka-3.9.1-clean"}[seed%3], "/data")
		want := tree(t, mem, "/data")
		save(t, mem, "/data")
		testarchive.SyncAll(t, mem, "/")
		w := &workload{t: t, seed: seed, fs: mem, dirs: []string{"/data"}}
		w.run(2)
		w.start()
		for range 5 {
			must(t, w.act(context.Background()))
		}
		killed := mem.CrashKeeping(seed) // the machine goes down in the middle of it
		w.stop()
		for _, left := range []*vfs.Mem{mem, killed} {
			plan, err := MakePlan(context.Background(), left, "/save/one")
			must(t, err)
			if len(plan.Steps) == 0 || len(plan.Logs) == 0 {
				t.Errorf("nothing to take back: %+v", plan)
			}
			rollBack(t, left)
			sameTree(t, tree(t, left, "/data"), want)
			runBroker(t, left.Crash())
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}
