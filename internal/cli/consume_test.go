package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/record"
)

// TestConsumeToAnEndThatHoldsNothing: compaction has emptied the last batches of a partition, wholly or but for their first
// record, so that no record stands before the end. --to end ends all the same, and so does one in between.
func TestConsumeToAnEndThatHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	start := func() *samsa.Broker {
		b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	stop := func(b *samsa.Broker) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	}
	b := start()
	s := shell{t, b.Addr()}
	s.ok("", "topics", "create", "t", "--partitions", "1", "--config", "cleanup.policy=compact")
	stop(b)

	o := record.DefaultBuilderOptions()
	o.LeaderEpoch = 0
	builder := record.NewBuilder(o)
	for _, v := range []string{"a", "b", "c"} {
		builder.Append(1000, []byte(v), []byte(v), nil)
	}
	log := builder.Build()
	empty := func(first, last record.Offset) record.Batch {
		return record.NewEmptyBatch(record.Header{Magic: 2, BaseOffset: first, LastOffsetDelta: int32(last - first), ProducerID: 5, MaxTimestamp: 1000})
	}
	log = append(log, empty(3, 5)...)
	log = append(log, empty(6, 9)...)
	if err := os.WriteFile(filepath.Join(dir, "t-0", "00000000000000000000.log"), log, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".kafka_cleanshutdown")); err != nil {
		t.Fatal(err)
	}
	b = start()
	defer stop(b)
	s = shell{t, b.Addr()}
	s.equal(s.ok("", "consume", "t", "--to", "end", "--partition", "0", "--format", `%o %v\n`), "0 a\n1 b\n2 c\n")
	s.equal(s.ok("", "consume", "t", "--to", "7", "--partition", "0", "--format", `%o %v\n`), "0 a\n1 b\n2 c\n")
	s.equal(s.ok("", "consume", "t", "--from", "4", "--to", "end", "--partition", "0", "--read-committed"), "")
}
