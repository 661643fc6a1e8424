package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// single has each client produce one record, wait for the acknowledgement, and so on for Duration.
func (j Job) single(ctx context.Context) (Result, error) {
	idle, err := j.idle()
	if err != nil {
		return Result{}, err
	}
	defer idle.close()
	clients := make([]*kgo.Client, j.Clients)
	for i := range clients {
		if clients[i], err = j.producer(0); err != nil {
			return Result{}, err
		}
		defer clients[i].Close()
		if _, err := j.warm(ctx, clients[i]); err != nil {
			return Result{}, err
		}
	}
	return measureEach(ctx, j.Clients, j.Duration, j.RecordBytes, func(client int, value []byte) error {
		return clients[client].ProduceSync(ctx, &kgo.Record{Partition: int32(client % j.Partitions), Value: value}).FirstErr()
	})
}

// measureEach calls send again and again from so many goroutines and gathers how long the calls took.
func measureEach(ctx context.Context, goroutines int, d time.Duration, bytes int, send func(goroutine int, value []byte) error) (Result, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	took := make([][]int64, goroutines)
	var running sync.WaitGroup
	all := newPayload(bytes, false)
	began := time.Now()
	for g := range goroutines {
		running.Go(func() {
			values := all.share()
			for ctx.Err() == nil && time.Since(began) < d {
				at := time.Now()
				if err := send(g, values.next()); err != nil {
					fail(fmt.Errorf("one record: %w", err))
					return
				}
				took[g] = append(took[g], int64(time.Since(at)))
			}
		})
	}
	running.Wait()
	seconds := time.Since(began).Seconds()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	ns := slices.Concat(took...)
	if len(ns) == 0 {
		return Result{}, errors.New("no record was acknowledged in time")
	}
	r := Result{Records: int64(len(ns)), Bytes: int64(len(ns) * bytes), Seconds: seconds}
	r.latencies(ns)
	return r, nil
}

// connections are open and do nothing.
type connections []net.Conn

func (c connections) close() {
	for _, one := range c {
		_ = one.Close() // nothing was ever written that could be lost
	}
}

// idle opens Idle connections.
func (j Job) idle() (connections, error) {
	var all connections
	for range j.Idle {
		c, err := net.Dial("tcp", j.Addr)
		if err != nil {
			all.close()
			return nil, fmt.Errorf("idle connection: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// RawReply is the size of the answer to a Raw request, in bytes: that of an acknowledgement.
const RawReply = 40

// raw sends RecordBytes and waits for RawReply bytes.
func (j Job) raw() (Result, error) {
	c, err := net.Dial("tcp", j.Addr)
	if err != nil {
		return Result{}, fmt.Errorf("bare connection: %w", err)
	}
	defer c.Close()
	reply := make([]byte, RawReply)
	return measureEach(context.Background(), 1, j.Duration, j.RecordBytes, func(_ int, value []byte) error {
		if _, err := c.Write(value); err != nil {
			return err
		}
		_, err := io.ReadFull(c, reply)
		return err
	})
}
