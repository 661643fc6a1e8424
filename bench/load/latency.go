package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slack is how late a tick may be by the timer alone. Later than that the broker has held the client up, and records
// count from when they were due (LOAD-3).
const slack = 5 * time.Millisecond

// drain is how long a latency run waits for records that are on their way.
const drain = 30 * time.Second

// stamped is the size of the time in front of each value, in bytes.
const stamped = 8

// clock stamps values with nanoseconds since it was made.
type clock struct{ zero time.Time }

func (c clock) stamp(value []byte, at time.Duration) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, stamped+len(value)), uint64(at)), value...)
}

// since returns the nanoseconds since the stamp of a value.
func (c clock) since(value []byte) int64 {
	return int64(time.Since(c.zero)) - int64(binary.BigEndian.Uint64(value))
}

// pace calls send rate times a second for d, in ticks of a millisecond, each time with when the record was due.
func pace(ctx context.Context, c clock, rate float64, d time.Duration, send func(due time.Duration)) int64 {
	began := time.Since(c.zero)
	var sent int64
	for ctx.Err() == nil {
		now := time.Since(c.zero)
		elapsed := min(now-began, d)
		due := int64(elapsed.Seconds() * rate)
		for ; sent < due; sent++ {
			scheduled := began + time.Duration(float64(sent+1)/rate*float64(time.Second))
			if now-scheduled < slack {
				scheduled = now
			}
			send(scheduled)
		}
		if elapsed == d {
			return sent
		}
		time.Sleep(time.Millisecond)
	}
	return sent
}

// settling is the share of the records at the beginning that are not counted.
const settling = 0.1

// collector gathers the latencies of the records of a run.
type collector struct {
	clock clock
	ns    []int64
}

func (c *collector) add(value []byte) {
	c.ns = append(c.ns, c.clock.since(value))
}

func (c *collector) result(sent int64, bytes int, seconds float64) (Result, error) {
	if int64(len(c.ns)) != sent || sent == 0 {
		return Result{}, fmt.Errorf("%d of %d records came back", len(c.ns), sent)
	}
	r := Result{Records: sent, Bytes: sent * int64(bytes), Seconds: seconds}
	r.latencies(c.ns[int(settling*float64(sent)):])
	return r, nil
}

// latency produces at a rate and consumes at the same time.
func (j Job) latency(ctx context.Context) (Result, error) {
	producer, err := j.producer(0)
	if err != nil {
		return Result{}, err
	}
	defer producer.Close()
	first, err := j.warm(ctx, producer)
	if err != nil {
		return Result{}, err
	}
	consumer, err := j.consumer(first, kgo.FetchMinBytes(1))
	if err != nil {
		return Result{}, err
	}
	defer consumer.Close()
	for seen := 0; seen < j.Partitions; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return Result{}, fmt.Errorf("consume: %w", err)
		}
		seen += fetches.NumRecords()
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c := &collector{clock: clock{time.Now()}}
	ending := make(chan int64, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.collect(ctx, consumer, c, ending, fail)
	}()
	values := newPayload(max(j.RecordBytes-stamped, 0), false)
	began, n := time.Now(), 0
	sent := pace(ctx, c.clock, j.Rate, j.Duration, func(due time.Duration) {
		n++
		producer.Produce(ctx, &kgo.Record{Partition: int32(n % j.Partitions), Value: c.clock.stamp(values.next(), due)}, func(_ *kgo.Record, err error) {
			if err != nil {
				fail(err)
			}
		})
	})
	seconds := time.Since(began).Seconds()
	ending <- sent
	select {
	case <-done:
	case <-time.After(drain):
		fail(errors.New("records are missing"))
		<-done
	}
	if err := context.Cause(ctx); err != nil {
		return Result{}, fmt.Errorf("latency: %w", err)
	}
	return c.result(sent, j.RecordBytes, seconds)
}

// collect polls until as many records have come as ending says.
func (j Job) collect(ctx context.Context, cl *kgo.Client, c *collector, ending <-chan int64, fail func(error)) {
	wanted := int64(-1)
	for ctx.Err() == nil && int64(len(c.ns)) != wanted {
		select {
		case wanted = <-ending:
			continue
		default:
		}
		// Waking up now and then is for the end of the run alone.
		waiting, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := cl.PollFetches(waiting)
		cancel()
		if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			fail(err)
			return
		}
		fetches.EachRecord(func(r *kgo.Record) { c.add(r.Value) })
	}
}
