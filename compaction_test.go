package samsa_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
)

// readToEnd reads a partition up to the offset end, committed records only.
func readToEnd(t *testing.T, b *samsa.Broker, topic string, end int64) []*kgo.Record {
	t.Helper()
	cl := clientOf(t, b, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer cl.Close()
	var all []*kgo.Record
	for len(all) == 0 || all[len(all)-1].Offset < end-1 {
		fetches := cl.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, r) })
	}
	return all
}

// TestCompactedTopic drives compaction with a client: segments of the smallest size Kafka allows, no lag. Old values go, the
// last value of every key stays at its offset in order, and a restart changes nothing.
func TestCompactedTopic(t *testing.T) {
	dir := t.TempDir()
	quick := map[string]string{"log.cleaner.backoff.ms": "50", "log.cleaner.dedupe.buffer.size": "2000000"}
	b := startIn(t, dir, quick)
	cl := clientOf(t, b, kgo.DefaultProduceTopic("compacted"), kgo.ProducerBatchMaxBytes(50_000),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	configs := map[string]*string{}
	for k, v := range map[string]string{
		"cleanup.policy": "compact", "segment.bytes": "1048576", "min.compaction.lag.ms": "0", "min.cleanable.dirty.ratio": "0.01",
		"delete.retention.ms": "0", "file.delete.delay.ms": "0",
	} {
		configs[k] = &v
	}
	if _, err := kadm.NewClient(cl).CreateTopic(t.Context(), 1, 1, configs, "compacted"); err != nil {
		t.Fatal(err)
	}
	const keys, rounds = 40, 12
	want := map[string]string{}
	end := int64(0)
	for round := range rounds {
		var list []*kgo.Record
		for k := range keys {
			key := fmt.Sprintf("key%d", k)
			r := &kgo.Record{Key: []byte(key), Value: []byte(strings.Repeat(string(rune('a'+round)), 10_000))}
			if want[key] = string(r.Value); round > 5 && k == 7 {
				r.Value = nil
				delete(want, key)
			}
			list = append(list, r)
		}
		for _, res := range cl.ProduceSync(t.Context(), list...) {
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			end = max(end, res.Record.Offset+1)
		}
	}
	check := func(b *samsa.Broker) int {
		t.Helper()
		all := readToEnd(t, b, "compacted", end)
		got, at := map[string]string{}, int64(-1)
		for _, r := range all {
			if r.Offset <= at {
				t.Fatalf("offset %d after %d", r.Offset, at)
			}
			at = r.Offset
			if got[string(r.Key)] = string(r.Value); r.Value == nil {
				delete(got, string(r.Key))
			}
		}
		if !maps.Equal(got, want) || at != end-1 {
			t.Fatalf("a reader ends at %d of %d with %d keys, want %d", at, end, len(got), len(want))
		}
		return len(all)
	}
	// The active segment, of 1 MiB, is never compacted; what lies below it has each key once.
	eventually(t, "compaction", func() bool { return check(b) <= keys+1<<20/10_000 })
	cl.Close()
	stop(t, b)
	b = startIn(t, dir, quick)
	if n := check(b); n > keys+1<<20/10_000 {
		t.Errorf("%d records after a restart", n)
	}
	if got, _ := listOffset(t, clientOf(t, b), "compacted", -1, 0); got != end {
		t.Errorf("the log ends at %d, it ended at %d", got, end)
	}
}
