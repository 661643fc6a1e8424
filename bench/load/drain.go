package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// drainVersion is the last version of Fetch that names topics.
const drainVersion = 12

// drain fetches Records of one partition and looks at the headers of batches alone: what is measured is the broker and
// the network, not a client that decodes.
func (j Job) drain(ctx context.Context) (Result, error) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.Fetch), drainVersion)
	cl, err := kgo.NewClient(kgo.SeedBrokers(j.Addr), kgo.MaxVersions(versions))
	if err != nil {
		return Result{}, fmt.Errorf("client: %w", err)
	}
	defer cl.Close()
	if err := cl.Ping(ctx); err != nil {
		return Result{}, fmt.Errorf("client: %w", err)
	}
	var r Result
	var next int64
	began := time.Now()
	for r.Records < j.Records {
		batches, err := j.fetchOnce(ctx, cl, next)
		if err != nil {
			return Result{}, err
		}
		records, after := count(batches)
		if records == 0 {
			return Result{}, fmt.Errorf("drain: nothing at offset %d, after %d of %d records", next, r.Records, j.Records)
		}
		r.Records += records
		r.Bytes += int64(len(batches))
		next = after
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

func (j Job) fetchOnce(ctx context.Context, cl *kgo.Client, offset int64) ([]byte, error) {
	q := kmsg.NewPtrFetchRequest()
	q.MaxWaitMillis, q.MinBytes, q.MaxBytes = 500, 1, 50<<20
	t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, 1<<20
	t.Topic, t.Partitions = j.Topic, append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	response, err := q.RequestWith(ctx, cl)
	if err != nil {
		return nil, fmt.Errorf("drain: %w", err)
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("drain: an answer about %d topics", len(response.Topics))
	}
	one := response.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
		return nil, fmt.Errorf("drain: %w", err)
	}
	return one.RecordBatches, nil
}

// count returns how many records the whole batches in b have, and the offset after the last of them.
func count(b []byte) (records, next int64) {
	const header, lengthAt, lastDeltaAt, countAt = 61, 8, 23, 57
	for len(b) >= header {
		size := int64(binary.BigEndian.Uint32(b[lengthAt:])) + 12
		if size < header || size > int64(len(b)) {
			break
		}
		records += int64(binary.BigEndian.Uint32(b[countAt:]))
		next = int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[lastDeltaAt:])) + 1
		b = b[size:]
	}
	return records, next
}
