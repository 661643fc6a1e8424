package deadletter

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share/window"
)

// writers is how many deliveries hold memory at a time (DLQ-3).
const writers = 4

// Kafka's patience (ShareGroupDLQStateManager): so many attempts, after pauses that begin with the first and double up to the
// longest, a fifth more or less.
const (
	attempts     = 5
	firstPause   = time.Second
	longestPause = 30 * time.Second
	jitter       = 0.2
)

// Options are what a Writer needs to know and to call.
type Options struct {
	// Queue says where letters of a group go now.
	Queue func(group string) Queue
	// Topic describes a topic; false when there is none.
	Topic func(name string) (Topic, bool)
	// Create makes the topic of a queue, with CreatedConfigs.
	Create func(name string) error
	// Partition returns the replica of a queue's partition here, or why there is none.
	Partition func(topic string, partition int32) (*replica.Partition, error)
	// Now stamps the letters; default time.Now.
	Now func() time.Time
	// Logger is told of letters that cannot be delivered; default: nobody is told.
	Logger *slog.Logger
}

// Writer writes letters. All methods may be called concurrently.
type Writer struct {
	o        Options
	slots    chan struct{}
	counters struct{ written, requests, failed, lost atomic.Int64 }
}

// NewWriter returns a Writer.
func NewWriter(o Options) *Writer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Writer{o: o, slots: make(chan struct{}, writers)}
}

// Metrics is a reading of the counters, since the start (Kafka's DeadLetterQueueRecordCount,
// DeadLetterQueueTotalProduceRequestsPerSec and DeadLetterQueueFailedProduceRequestsPerSec, of all groups).
type Metrics struct {
	// Written are letters in queues, Lost those that could not come there.
	Written, Lost int64
	// Requests are batches that were to be written, Failed those that were not.
	Requests, Failed int64
}

// Metrics reads the counters.
func (w *Writer) Metrics() Metrics {
	c := &w.counters
	return Metrics{Written: c.written.Load(), Lost: c.lost.Load(), Requests: c.requests.Load(), Failed: c.failed.Load()}
}

// Deliver implements share.DeadLetters: it blocks until each letter is done (DLQ-1), or returns an error when ctx ended before.
func (w *Writer) Deliver(ctx context.Context, group string, source *replica.Partition, letters []window.Letter) error {
	d := &delivery{w: w, group: group, source: source, letters: slices.Clone(letters)}
	// In the order of the log: the source is read forwards.
	slices.SortFunc(d.letters, func(a, b window.Letter) int { return int(a.First - b.First) })
	for tries := 1; ; tries++ {
		before := d.done
		err := w.turn(ctx, d)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d.done > before {
			tries = 1
		}
		if !passing(err) || tries == attempts {
			d.giveUp(err)
			return nil
		}
		w.o.Logger.Warn("cannot write to a dead-letter queue; it is tried again", "group", group, "partition", source.TopicPartition(), "err", err)
		if err := sleep(ctx, pause(tries)); err != nil {
			return err
		}
	}
}

// turn makes one attempt at what is left of a delivery, when it is its turn.
func (w *Writer) turn(ctx context.Context, d *delivery) error {
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.slots }()
	return d.attempt(ctx)
}

// pause is how long to wait after so many attempts.
func pause(tries int) time.Duration {
	p := min(firstPause<<(tries-1), longestPause)
	return time.Duration(float64(p) * (1 - jitter + 2*jitter*rand.Float64()))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
