package minimum

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func startMinimum(t *testing.T, o Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- Serve(l, o) }()
	t.Cleanup(func() {
		_ = l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestRecordsComeBack produces batches small and large into two partitions and reads them with a client that checks
// checksums and offsets.
func TestRecordsComeBack(t *testing.T) {
	ctx := context.Background()
	addr := startMinimum(t, Options{Dir: t.TempDir()})
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ConsumeTopics("t"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxPartitionBytes(100_000))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 2, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	const rounds, each = 20, 30
	for r := range rounds {
		var records []*kgo.Record
		for i := range each {
			records = append(records, &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: bytes.Repeat([]byte{byte(r)}, 1+r*100)})
		}
		if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	next := map[int32]int64{}
	for n := 0; n < rounds*each; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			want := byte(r.Offset / (each / 2))
			if r.Offset != next[r.Partition] || len(r.Value) != 1+int(want)*100 || r.Value[0] != want {
				t.Fatalf("partition %d: offset %d with %d bytes, wanted %d", r.Partition, r.Offset, len(r.Value), next[r.Partition])
			}
			next[r.Partition]++
		})
	}
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, "t")
	if err != nil || ends["t"][0].Offset != rounds*each/2 {
		t.Errorf("end offsets %v, %v", ends, err)
	}
	if _, err := kadm.NewClient(cl).DeleteTopics(ctx, "t"); err != nil {
		t.Error(err)
	}
}

func TestOnlyAnswersWritesNothing(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	addr := startMinimum(t, Options{Dir: dir, OnlyAnswers: true})
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "1.log"))
	if err != nil || info.Size() != 0 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

func batch(records int, size int) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint32(b[8:], uint32(size-12))
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(records-1))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func TestCheckRefusesDamage(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	if n, err := check(batch(7, 100), table); n != 7 || err != nil {
		t.Fatalf("a good batch: %d, %v", n, err)
	}
	for name, b := range map[string][]byte{
		"short": batch(1, 100)[:60], "longer than it says": append(batch(1, 100), 0), "bit": func() []byte { b := batch(1, 100); b[70] ^= 1; return b }(),
	} {
		if _, err := check(b, table); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadGivesWholeBatches checks MIN-1 at every offset and limit.
func TestReadGivesWholeBatches(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "1.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := newPartition(f)
	sizes := []int64{100, 61, 300, 80}
	for i, n := range sizes {
		if base, err := p.append(batch(3, int(n)), 3); err != nil || base != int64(3*i) {
			t.Fatal(base, err)
		}
	}
	for offset := range int64(12) {
		for limit := int64(0); limit < 600; limit += 7 {
			from, to, end, _ := p.read(offset, limit)
			var at int64
			for _, n := range sizes[:offset/3] {
				at += n
			}
			want := at + sizes[offset/3]
			for _, n := range sizes[offset/3+1:] {
				if want+n-at > limit {
					break
				}
				want += n
			}
			if from != at || to != want || end != 12 {
				t.Fatal(fmt.Sprintf("offset %d limit %d: %d–%d, wanted %d–%d", offset, limit, from, to, at, want))
			}
		}
	}
	if from, to, _, _ := p.read(12, 100); from != to {
		t.Error("something at the end")
	}
}
