package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsPending is how many messages may be published without an acknowledgement: as many bytes as a Kafka producer
// has in flight.
const natsPending = 4096

// nats runs a job against JetStream. Topic is the stream and the subject.
func (j Job) nats(ctx context.Context) (Result, error) {
	connection, err := nats.Connect("nats://" + j.Addr)
	if err != nil {
		return Result{}, fmt.Errorf("nats: %w", err)
	}
	defer connection.Close()
	var refused atomic.Pointer[error]
	js, err := jetstream.New(connection, jetstream.WithPublishAsyncMaxPending(natsPending),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { refused.Store(&err) }))
	if err != nil {
		return Result{}, fmt.Errorf("nats: %w", err)
	}
	var r Result
	switch j.Kind {
	case Produce:
		r, err = j.natsProduce(ctx, js)
	case Consume:
		r, err = j.natsConsume(ctx, js)
	case Latency:
		r, err = j.natsLatency(ctx, js)
	case Single:
		if j.Clients != 1 {
			return Result{}, errors.New("nats: one client at a time")
		}
		r, err = measureEach(ctx, 1, j.Duration, j.RecordBytes, func(_ int, value []byte) error {
			_, err := js.Publish(ctx, j.Topic, value)
			return err
		})
	default:
		err = fmt.Errorf("job %q", j.Kind)
	}
	if e := refused.Load(); e != nil {
		err = errors.Join(err, *e)
	}
	if err != nil {
		return Result{}, fmt.Errorf("nats: %w", err)
	}
	return r, nil
}

// publish sends a message; when too many are unacknowledged it waits.
func publish(js jetstream.JetStream, subject string, value []byte) error {
	for {
		_, err := js.PublishAsync(subject, value)
		if !errors.Is(err, jetstream.ErrTooManyStalledMsgs) {
			return err
		}
	}
}

func (j Job) natsProduce(ctx context.Context, js jetstream.JetStream) (Result, error) {
	if _, err := js.Publish(ctx, j.Topic, []byte("warm")); err != nil {
		return Result{}, err
	}
	values := newPayload(j.RecordBytes, j.Text)
	began := time.Now()
	for i := int64(0); i < j.Records && ctx.Err() == nil; i++ {
		if err := publish(js, j.Topic, values.next()); err != nil {
			return Result{}, err
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	return Result{Records: j.Records, Bytes: j.Records * int64(j.RecordBytes), Seconds: time.Since(began).Seconds()}, nil
}

// natsReader starts an ordered consumer from the beginning of the stream.
func (j Job) natsReader(ctx context.Context, js jetstream.JetStream, each func(value []byte)) (stop func(), err error) {
	c, err := js.OrderedConsumer(ctx, j.Topic, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return nil, err
	}
	reading, err := c.Consume(func(m jetstream.Msg) { each(m.Data()) }, jetstream.PullMaxMessages(natsPending))
	if err != nil {
		return nil, err
	}
	return reading.Stop, nil
}

func (j Job) natsConsume(ctx context.Context, js jetstream.JetStream) (Result, error) {
	var r Result
	done := make(chan struct{})
	began := time.Now()
	stop, err := j.natsReader(ctx, js, func(value []byte) {
		if r.Records < j.Records {
			r.Bytes += int64(len(value))
			if r.Records++; r.Records == j.Records {
				close(done)
			}
		}
	})
	if err != nil {
		return Result{}, err
	}
	defer stop()
	select {
	case <-done:
		r.Seconds = time.Since(began).Seconds()
		return r, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

func (j Job) natsLatency(ctx context.Context, js jetstream.JetStream) (Result, error) {
	if _, err := js.Publish(ctx, j.Topic, make([]byte, stamped)); err != nil {
		return Result{}, err
	}
	c := &collector{clock: clock{time.Now()}}
	values := make(chan []byte, natsPending)
	stop, err := j.natsReader(ctx, js, func(value []byte) { values <- value })
	if err != nil {
		return Result{}, err
	}
	defer stop()
	<-values // the first
	wanted, done := make(chan int64, 1), make(chan struct{})
	go func() {
		defer close(done)
		for n := int64(-1); n != int64(len(c.ns)); {
			select {
			case n = <-wanted:
			case v := <-values:
				c.add(v)
			case <-ctx.Done():
				return
			}
		}
	}()
	payload := newPayload(max(j.RecordBytes-stamped, 0), false)
	var failed error
	began := time.Now()
	sent := pace(ctx, c.clock, j.Rate, j.Duration, func(due time.Duration) {
		failed = errors.Join(failed, publish(js, j.Topic, c.clock.stamp(payload.next(), due)))
	})
	seconds := time.Since(began).Seconds()
	wanted <- sent
	select {
	case <-done:
	case <-time.After(drain):
		return Result{}, errors.Join(failed, fmt.Errorf("%d of %d messages came back", len(values), sent))
	}
	if failed != nil {
		return Result{}, failed
	}
	return c.result(sent, j.RecordBytes, seconds)
}
