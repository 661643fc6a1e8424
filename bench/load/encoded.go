package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// encodedVersion is the version of Produce that encoded clients speak: flexible, topics by name, known to every peer.
const encodedVersion = 9

// encodedRequest is a Produce of one record, encoded once: sending it again changes the value and the checksum alone.
type encodedRequest struct {
	frame []byte // with its size
	batch []byte // in frame
	value []byte // in batch
	table *crc32.Table
}

// newEncodedRequest encodes a request for acks=all without a producer id.
func newEncodedRequest(topic string, partition int32, valueBytes int) *encodedRequest {
	r := kmsg.Record{Value: make([]byte, valueBytes)}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // behind the length, which takes one byte while it is 0
	records := r.AppendTo(nil)
	b := kmsg.RecordBatch{Magic: 2, PartitionLeaderEpoch: -1, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: records,
		FirstTimestamp: 1_700_000_000_000, MaxTimestamp: 1_700_000_000_000}
	const beforeLength = 12
	b.Length = int32(len(b.AppendTo(nil)) - beforeLength)
	q := kmsg.NewPtrProduceRequest()
	q.Version, q.Acks, q.TimeoutMillis = encodedVersion, -1, 10_000
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, b.AppendTo(nil)
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("encoded")).AppendRequest(nil, q, 0)
	// Behind the records come the empty tags of partition, topic and request; behind the value its number of headers.
	const tags, headers = 3, 1
	end := len(frame) - tags
	return &encodedRequest{frame: frame, batch: frame[end-len(p.Records) : end], value: frame[end-headers-valueBytes : end-headers],
		table: crc32.MakeTable(crc32.Castagnoli)}
}

// with returns the frame with another value of the same size.
func (e *encodedRequest) with(value []byte) []byte {
	const crcAt, crcFrom = 17, 21
	copy(e.value, value)
	binary.BigEndian.PutUint32(e.batch[crcAt:], crc32.Checksum(e.batch[crcFrom:], e.table))
	return e.frame
}

// encoded is single with clients that do as little as a client can: what is measured is the broker and the network.
func (j Job) encoded(ctx context.Context) (Result, error) {
	warm, err := j.producer(0)
	if err != nil {
		return Result{}, err
	}
	defer warm.Close()
	if _, err := j.warm(ctx, warm); err != nil {
		return Result{}, err
	}
	var all connections
	defer func() { all.close() }()
	requests, answers := make([]*encodedRequest, j.Clients), make([][]byte, j.Clients)
	for i := range requests {
		c, err := net.Dial("tcp", j.Addr)
		if err != nil {
			return Result{}, fmt.Errorf("encoded: %w", err)
		}
		all = append(all, c)
		requests[i], answers[i] = newEncodedRequest(j.Topic, int32(i%j.Partitions), j.RecordBytes), make([]byte, 4<<10)
	}
	return measureEach(ctx, j.Clients, j.Duration, j.RecordBytes, func(client int, value []byte) error {
		if _, err := all[client].Write(requests[client].with(value)); err != nil {
			return err
		}
		return readAcknowledgement(all[client], answers[client])
	})
}

// readAcknowledgement reads the answer to an encoded request into room.
func readAcknowledgement(c net.Conn, room []byte) error {
	n, err := io.ReadAtLeast(c, room, 4)
	if err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(room))
	if 4+size > len(room) {
		return fmt.Errorf("an answer of %d bytes", size)
	}
	if n < 4+size {
		if _, err := io.ReadFull(c, room[n:4+size]); err != nil {
			return err
		}
	}
	const header = 4 + 4 + 1 // size, correlation id, no tags
	var r kmsg.ProduceResponse
	r.SetVersion(encodedVersion)
	if err := r.ReadFrom(room[header : 4+size]); err != nil {
		return err
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return fmt.Errorf("an answer about %d topics", len(r.Topics))
	}
	return kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode)
}
