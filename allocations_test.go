package samsa_test

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// The hot paths allocate per request, never per record or per byte (docs/bench.md has the times). The bounds are what was
// measured and a little more: an allocation that is added to the path of every request shows here.
const (
	produceAllocations = 6
	fetchAllocations   = 19
)

func TestAllocationsOfProduce(t *testing.T) {
	b := startBroker(t, nil)
	cl := clientOf(t, b)
	createTopic(t, cl, "orders", 1)
	few, many := produceFrame(1, 16), produceFrame(500, 32)
	for name, frame := range map[string][]byte{"one record": few, "500 records": many} {
		if got := allocationsPerRequest(t, b.Addr(), frame); got > produceAllocations {
			t.Errorf("%s: %.1f allocations a request, at most %d are expected", name, got, produceAllocations)
		}
	}
}

func TestAllocationsOfFetch(t *testing.T) {
	b := startBroker(t, nil)
	cl := clientOf(t, b)
	createTopic(t, cl, "orders", 1)
	for range 8 {
		allocationsPerRequest(t, b.Addr(), produceFrame(500, 32)) // something to fetch
	}
	for name, maxBytes := range map[string]int32{"one batch": 1 << 10, "many batches": 1 << 20} {
		if got := allocationsPerRequest(t, b.Addr(), fetchFrame(maxBytes)); got > fetchAllocations {
			t.Errorf("%s: %.1f allocations a request, at most %d are expected", name, got, fetchAllocations)
		}
	}
}

// allocationsPerRequest sends a frame again and again over one connection and returns how many objects the whole process
// allocates for each; this side of the connection allocates none.
func allocationsPerRequest(t *testing.T, addr string, frame []byte) float64 {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 4<<20)
	ask := func(times int) {
		for range times {
			if _, err := c.Write(frame); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, reply[:4]); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, reply[:binary.BigEndian.Uint32(reply)]); err != nil {
				t.Fatal(err)
			}
		}
	}
	const requests = 400
	ask(20) // buffers and maps grow to their size
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ask(requests)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / requests
}

// produceFrame is a Produce of one batch, of records of the given size.
func produceFrame(records, size int) []byte {
	timestamps := make([]int64, records)
	for i := range timestamps {
		timestamps[i] = 1_700_000_000_000
	}
	req := kmsg.NewPtrProduceRequest()
	topic, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic, p.Records = "orders", batchOf(record.None, size, timestamps...)
	topic.Partitions = append(topic.Partitions, p)
	req.Acks, req.TimeoutMillis, req.Topics = -1, 10_000, append(req.Topics, topic)
	req.SetVersion(9)
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
}

// fetchFrame is a Fetch from the beginning of the partition, without a session.
func fetchFrame(maxBytes int32) []byte {
	req := kmsg.NewPtrFetchRequest()
	topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	topic.Topic, p.PartitionMaxBytes = "orders", maxBytes
	topic.Partitions = append(topic.Partitions, p)
	req.MaxBytes, req.MinBytes, req.Topics = maxBytes, 1, append(req.Topics, topic)
	req.SetVersion(12)
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, 1)
}
