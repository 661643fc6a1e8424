package samsa_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// What went wrong for people with such brokers, asked of the whole broker over a socket. Reports that one
// room can answer alone have their tests there.

// batchOf builds one batch with the given timestamps, keys "k" and values of size bytes.
func batchOf(codec record.Codec, size int, timestamps ...int64) []byte {
	o := record.DefaultBuilderOptions()
	o.Codec = codec
	b := record.NewBuilder(o)
	for _, ts := range timestamps {
		b.Append(ts, []byte("k"), bytes.Repeat([]byte("v"), size), nil)
	}
	return b.Build()
}

// produceBatch sends a batch as it is and returns what the broker says of the partition.
func produceBatch(t *testing.T, cl *kgo.Client, topic string, partition int32, batch []byte) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 12, -1, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, batch
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := ask(t, cl, req).(*kmsg.ProduceResponse)
	return resp.Topics[0].Partitions[0]
}

// ask sends a request at the version it carries to the only broker.
func ask(t *testing.T, cl *kgo.Client, req kmsg.Request) kmsg.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	resp, err := cl.Broker(1).Request(ctx, pinned{req})
	if err != nil {
		t.Fatalf("%T: %v", req, err)
	}
	return resp
}

// pinned keeps the client from choosing the version.
type pinned struct{ kmsg.Request }

// MaxVersion implements kmsg.Request.
func (p pinned) MaxVersion() int16 { return p.GetVersion() }

// fetchFrom reads partitions of a topic from the given offsets without a session.
func fetchFrom(t *testing.T, cl *kgo.Client, topic string, maxBytes, minBytes int32, wait time.Duration, offsets map[int32]int64) map[int32]kmsg.FetchResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.MinBytes, req.MaxWaitMillis, req.SessionEpoch = 12, maxBytes, minBytes, int32(wait.Milliseconds()), -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	for p, o := range offsets {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p, o, maxBytes
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	out := map[int32]kmsg.FetchResponseTopicPartition{}
	for _, rt := range ask(t, cl, req).(*kmsg.FetchResponse).Topics {
		for _, rp := range rt.Partitions {
			out[rp.Partition] = rp
		}
	}
	return out
}

func listOffset(t *testing.T, cl *kgo.Client, topic string, timestamp int64, isolation int8) (offset, ts int64) {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID, req.IsolationLevel = 8, -1, isolation
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Timestamp, rp.CurrentLeaderEpoch = timestamp, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	p := ask(t, cl, req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		t.Fatalf("ListOffsets %d: %v", timestamp, err)
	}
	return p.Offset, p.Timestamp
}

// TestF03FirstBatchLargerThanEveryLimit: a consumer whose limits are below one batch still gets on.
func TestF03FirstBatchLargerThanEveryLimit(t *testing.T) {
	cl := clientOf(t, startBroker(t, map[string]string{"message.max.bytes": "8000000"}))
	createTopic(t, cl, "large", 1)
	if p := produceBatch(t, cl, "large", 0, batchOf(record.None, 5<<20, time.Now().UnixMilli())); p.ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(p.ErrorCode))
	}
	got := fetchFrom(t, cl, "large", 100_000, 1, 0, map[int32]int64{0: 0})[0]
	s := record.NewScanner(got.RecordBatches)
	if !s.Next() || s.Batch().CheckCRC() != nil {
		t.Fatalf("no whole batch in %d bytes: %v", len(got.RecordBatches), s.Err())
	}
}

// TestF04MaxMessageBytes: the limit is on the batch as it is sent, compressed.
func TestF04MaxMessageBytes(t *testing.T) {
	cl := clientOf(t, startBroker(t, nil))
	createTopic(t, cl, "limited", 1)
	now := time.Now().UnixMilli()
	if p := produceBatch(t, cl, "limited", 0, batchOf(record.None, 1_100_000, now)); p.ErrorCode != kerr.MessageTooLarge.Code || p.BaseOffset != -1 {
		t.Fatalf("1.1 MB: code %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
	if p := produceBatch(t, cl, "limited", 0, batchOf(record.Gzip, 1_100_000, now)); p.ErrorCode != 0 || p.BaseOffset != 0 {
		t.Fatalf("1.1 MB that compress well: code %d, offset %d", p.ErrorCode, p.BaseOffset)
	}
}

// TestF07OutOfRange: only below the log start and above the log end, never in between.
func TestF07OutOfRange(t *testing.T) {
	cl := clientOf(t, startBroker(t, nil))
	createTopic(t, cl, "range", 1)
	for range 4 {
		produceBatch(t, cl, "range", 0, batchOf(record.None, 1, time.Now().UnixMilli()))
	}
	del := kmsg.NewPtrDeleteRecordsRequest()
	del.Version, del.TimeoutMillis = 2, 5000
	dt := kmsg.NewDeleteRecordsRequestTopic()
	dt.Topic = "range"
	dp := kmsg.NewDeleteRecordsRequestTopicPartition()
	dp.Offset = 2
	dt.Partitions = append(dt.Partitions, dp)
	del.Topics = append(del.Topics, dt)
	ask(t, cl, del)
	for offset, want := range map[int64]int16{0: 1, 1: 1, 2: 0, 3: 0, 4: 0, 5: 1} {
		if got := fetchFrom(t, cl, "range", 1000, 1, 0, map[int32]int64{0: offset})[0]; got.ErrorCode != want {
			t.Errorf("offset %d: code %d, want %d", offset, got.ErrorCode, want)
		}
	}
}

// TestF11LongPoll: a record in the second partition ends the wait of a fetch on both, and min_bytes=0 does
// not wait at all. The waits are so long that the test's own deadline would end it otherwise.
func TestF11LongPoll(t *testing.T) {
	b := startBroker(t, nil)
	cl, producer := clientOf(t, b), clientOf(t, b)
	createTopic(t, cl, "poll", 2)
	const ever = 10 * time.Minute
	if got := fetchFrom(t, cl, "poll", 1000, 0, ever, map[int32]int64{0: 0, 1: 0}); len(got[0].RecordBatches)+len(got[1].RecordBatches) != 0 {
		t.Fatal("records in an empty topic")
	}
	sent := make(chan kmsg.ProduceResponseTopicPartition, 1)
	go func() { sent <- produceBatch(t, producer, "poll", 1, batchOf(record.None, 1, time.Now().UnixMilli())) }()
	got := fetchFrom(t, cl, "poll", 1000, 1, ever, map[int32]int64{0: 0, 1: 0})
	if len(got[1].RecordBatches) == 0 {
		t.Fatal("the fetch ended without the record")
	}
	if p := <-sent; p.ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(p.ErrorCode))
	}
}

// TestI01MaxTimestampThroughTheBroker: offset and timestamp of the record with the largest timestamp, inside
// a compressed batch and with a later batch behind it.
func TestI01MaxTimestampThroughTheBroker(t *testing.T) {
	cl := clientOf(t, startBroker(t, nil))
	createTopic(t, cl, "max", 1)
	base := time.Now().UnixMilli()
	produceBatch(t, cl, "max", 0, batchOf(record.LZ4, 1, base+5, base+9, base+7))
	produceBatch(t, cl, "max", 0, batchOf(record.None, 1, base+8))
	if offset, ts := listOffset(t, cl, "max", -3, 0); offset != 1 || ts != base+9 {
		t.Fatalf("offset %d, timestamp base%+d", offset, ts-base)
	}
}

// TestI10TimestampsGiveDistinctOffsets, and TestI02's table through the broker.
func TestI10TimestampsGiveDistinctOffsets(t *testing.T) {
	cl := clientOf(t, startBroker(t, nil))
	base := time.Now().UnixMilli()
	for name, batches := range map[string][][]byte{
		"apart":    {batchOf(0, 1, base+2), batchOf(0, 1, base+4), batchOf(0, 1, base+6), batchOf(0, 1, base+8)},
		"together": {batchOf(record.Zstd, 1, base+2, base+4, base+6, base+8)},
	} {
		createTopic(t, cl, name, 1)
		for _, b := range batches {
			produceBatch(t, cl, name, 0, b)
		}
		for after, want := range map[int64]int64{1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3, 8: 3, 9: -1} {
			if offset, _ := listOffset(t, cl, name, base+after, 0); offset != want {
				t.Errorf("%s: time %d gives offset %d, want %d", name, after, offset, want)
			}
		}
	}
}
