package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// most records and bytes that a producer holds back: enough for several of the largest batches in flight.
const (
	bufferedRecords = 1 << 16
	bufferedBytes   = 64 << 20
)

func codec(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "", "none":
		return kgo.NoCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	default:
		return kgo.CompressionCodec{}, fmt.Errorf("codec %q", name)
	}
}

// producer returns a client whose batches wait for linger to be filled.
func (j Job) producer(linger time.Duration) (*kgo.Client, error) {
	compression, err := codec(j.Codec)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(j.Addr), kgo.DefaultProduceTopic(j.Topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(int32(max(j.BatchBytes, j.RecordBytes+128))), kgo.ProducerBatchCompression(compression), kgo.ProducerLinger(linger),
		kgo.MaxBufferedRecords(bufferedRecords), kgo.MaxBufferedBytes(bufferedBytes), kgo.MetadataMinAge(50 * time.Millisecond),
	}
	if j.Acks == "1" {
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	if !j.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return cl, nil
}

// warm produces a record into each partition, so that everything is there (LOAD-2), and returns their offsets.
func (j Job) warm(ctx context.Context, cl *kgo.Client) (map[int32]int64, error) {
	records := make([]*kgo.Record, j.Partitions)
	for i := range records {
		records[i] = &kgo.Record{Partition: int32(i), Key: []byte("warm"), Value: []byte("warm")}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("first records: %w", err)
	}
	offsets := map[int32]int64{}
	for _, r := range records {
		offsets[r.Partition] = r.Offset
	}
	return offsets, nil
}

// produce sends Records over all partitions by turns.
func (j Job) produce(ctx context.Context) (Result, error) {
	cl, err := j.producer(5 * time.Millisecond)
	if err != nil {
		return Result{}, err
	}
	defer cl.Close()
	if _, err := j.warm(ctx, cl); err != nil {
		return Result{}, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	values, names := newPayload(j.RecordBytes, j.Text), newKeys(j.Keys)
	began := time.Now()
	for i := int64(0); i < j.Records && ctx.Err() == nil; i++ {
		cl.Produce(ctx, &kgo.Record{Partition: int32(i % int64(j.Partitions)), Key: names.next(), Value: values.next()}, func(_ *kgo.Record, err error) {
			if err != nil {
				fail(err)
			}
		})
	}
	if err := errors.Join(cl.Flush(ctx), context.Cause(ctx)); err != nil {
		return Result{}, fmt.Errorf("produce: %w", err)
	}
	return Result{Records: j.Records, Bytes: j.Records * int64(j.RecordBytes), Seconds: time.Since(began).Seconds()}, nil
}

// consume reads Records with each of Clients clients. They read each byte, as a program would that looks at lengths.
func (j Job) consume(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var records, bytes atomic.Int64
	errs := make(chan error, j.Clients)
	began := time.Now()
	for range j.Clients {
		running.Go(func() {
			n, size, err := j.consumeAll(ctx)
			records.Add(n)
			bytes.Add(size)
			if err != nil {
				errs <- err
				cancel()
			}
		})
	}
	running.Wait()
	seconds := time.Since(began).Seconds()
	close(errs)
	return Result{Records: records.Load(), Bytes: bytes.Load(), Seconds: seconds}, <-errs
}

// longestSilence is how long a consumer waits for the next record before it fails.
const longestSilence = 60 * time.Second

func (j Job) consumeAll(ctx context.Context) (records, bytes int64, err error) {
	cl, err := j.consumer(nil)
	if err != nil {
		return 0, 0, err
	}
	defer cl.Close()
	for records < j.Records {
		waiting, cancel := context.WithTimeout(ctx, longestSilence)
		fetches := cl.PollFetches(waiting)
		cancel()
		if err := fetches.Err(); err != nil {
			return records, bytes, fmt.Errorf("consume, after %d of %d records: %w", records, j.Records, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			records++
			bytes += int64(len(r.Value))
		})
	}
	return records, bytes, nil
}

// consumer reads all partitions, from the given offsets or else from the beginning, with the sizes that Java consumers
// have by default.
func (j Job) consumer(from map[int32]int64, more ...kgo.Opt) (*kgo.Client, error) {
	offsets := map[int32]kgo.Offset{}
	for i := range j.Partitions {
		offsets[int32(i)] = kgo.NewOffset().AtStart()
		if at, ok := from[int32(i)]; ok {
			offsets[int32(i)] = kgo.NewOffset().At(at)
		}
	}
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(j.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{j.Topic: offsets}),
		kgo.FetchMaxBytes(50 << 20), kgo.FetchMaxPartitionBytes(1 << 20), kgo.FetchMaxWait(500 * time.Millisecond), kgo.MetadataMinAge(50 * time.Millisecond),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return cl, nil
}
