package coord

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// Whoever asks first makes the topic, others wait for that and do not make it again; a failure is told, and the next
// one tries again.
func TestLocateMakesTheTopic(t *testing.T) {
	var made, tries atomic.Int32
	r := newRuntime(t, Options[*counter]{
		Find: func() (Topic, bool) { return Topic{record.UUID{1}, 5}, made.Load() > 0 },
		Create: func() error {
			if tries.Add(1) == 1 {
				return errors.New("no space")
			}
			made.Add(1)
			return nil
		},
	})
	if _, err := r.PartitionOf("g"); err != ErrNotCoordinator {
		t.Errorf("without the topic: %v", err)
	}
	if _, err := r.Locate(context.Background(), "g"); err == nil || err.Error() != "no space" {
		t.Errorf("a topic that cannot be made: %v", err)
	}
	var asking sync.WaitGroup
	for range 5 {
		asking.Go(func() {
			if p, err := r.Locate(context.Background(), "g"); err != nil || p != PartitionFor("g", 5) {
				t.Errorf("partition %d, %v", p, err)
			}
		})
	}
	asking.Wait()
	if made.Load() != 1 {
		t.Errorf("the topic was made %d times", made.Load())
	}
}

// A coordinator that may not make its topic says that it is not here.
func TestLocateWithoutTopic(t *testing.T) {
	r := newRuntime(t, Options[*counter]{})
	if _, err := r.Locate(context.Background(), "g"); err != ErrNotCoordinator {
		t.Error(err)
	}
}

// A topic with another number of partitions than it had would hide what it holds (COORD-8); a new topic of the name does
// not.
func TestLocateOtherNumberOfPartitions(t *testing.T) {
	topic := Topic{record.UUID{1}, 5}
	r := newRuntime(t, Options[*counter]{Find: func() (Topic, bool) { return topic, true }})
	for _, x := range []struct {
		topic Topic
		want  error
	}{
		{topic, nil}, {Topic{record.UUID{1}, 6}, ErrNotAvailable}, {topic, nil}, {Topic{record.UUID{2}, 6}, nil}, {Topic{record.UUID{3}, 0}, ErrNotCoordinator},
	} {
		topic = x.topic
		if p, err := r.PartitionOf("g"); err != x.want || err == nil && p != PartitionFor("g", topic.Partitions) {
			t.Errorf("%v: partition %d, %v; want %v", x.topic, p, err, x.want)
		}
	}
}

// slow is a partition whose log can be read only later.
type slow struct {
	*partition
	hold chan struct{}
}

func (p *slow) Log() *storage.Log { <-p.hold; return p.partition.Log() }

// Locate waits a little for a partition that is being read, and not for ever.
func TestLocateWaitsForLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuntime(t, Options[*counter]{Find: func() (Topic, bool) { return Topic{record.UUID{1}, 1}, true }})
		p := &slow{newPartition(t, nil), make(chan struct{})}
		r.Elected(0, p)
		start := time.Now()
		if _, err := r.Locate(context.Background(), "g"); err != nil || time.Since(start) != SettleLimit {
			t.Errorf("%v after %v, want the partition after %v", err, time.Since(start), SettleLimit)
		}
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.Locate(gone, "g"); err != nil || time.Since(start) != SettleLimit {
			t.Errorf("%v after %v for a client that has gone", err, time.Since(start))
		}
		go func() { time.Sleep(SettleLimit / 2); close(p.hold) }()
		start = time.Now()
		if _, err := r.Locate(context.Background(), "g"); err != nil || time.Since(start) != SettleLimit/2 {
			t.Errorf("%v after %v, want the partition when it is read", err, time.Since(start))
		}
		r.Close()
	})
}
