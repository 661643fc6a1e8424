// Command heartbeats measures what a broker's group coordinator takes for many groups that only heartbeat: it fills
// groups with members, each on a connection of its own as real clients are, lets them heartbeat, and reads the broker's
// processor time and memory from /proc.
//
//	heartbeats -broker HOST:PORT -pid PID [-groups 1000] [-members 5] [-protocol classic|consumer] [-for 60s]
//
// It prints one line: connections, heartbeats a second, processor time in percent of one core, resident memory before
// the groups, with them and at the end, and the answers that had an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// options are the flags of the command.
type options struct {
	broker, protocol string
	pid              int
	groups, members  int
	length           time.Duration
	interval         time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.broker, "broker", "127.0.0.1:9092", "the broker")
	flag.IntVar(&o.pid, "pid", 0, "the broker's process")
	flag.IntVar(&o.groups, "groups", 1000, "groups")
	flag.IntVar(&o.members, "members", 5, "members of each")
	flag.StringVar(&o.protocol, "protocol", "classic", "classic or consumer")
	flag.DurationVar(&o.length, "for", time.Minute, "how long to measure")
	flag.DurationVar(&o.interval, "interval", 3*time.Second, "between a classic member's heartbeats; the broker tells the others")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "heartbeats:", err)
		os.Exit(1)
	}
}

// counters are what all members count.
type counters struct{ beats, faults, joined atomic.Int64 }

// prepare makes the topic that members subscribe to, and has the broker make the one that groups are kept in.
func prepare(ctx context.Context, o options) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	return admin.FindGroupCoordinators(ctx, topic).Error()
}

// atOnce bounds how many groups are filled at the same time.
const atOnce = 250

func run(ctx context.Context, o options) error {
	if o.protocol != "classic" && o.protocol != "consumer" {
		return fmt.Errorf("there is no protocol %q", o.protocol)
	}
	before, err := usageOf(o.pid)
	if err != nil {
		return err
	}
	if err := prepare(ctx, o); err != nil {
		return err
	}
	var c counters
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer all.Wait()
	defer stop()
	began := time.Now()
	slots := make(chan struct{}, atOnce)
	fails := make(chan error, o.groups*o.members)
	for g := range o.groups {
		slots <- struct{}{}
		var ready sync.WaitGroup
		for range o.members {
			ready.Add(1)
			all.Go(func() {
				joined := sync.OnceFunc(ready.Done)
				defer joined()
				m := &member{o: o, group: fmt.Sprintf("%s-%05d", o.protocol, g), joined: joined, c: &c}
				if err := m.live(ctx); err != nil && !errors.Is(err, context.Canceled) {
					fails <- err
				}
			})
		}
		all.Go(func() { ready.Wait(); <-slots })
	}
	for range atOnce {
		slots <- struct{}{}
	}
	select {
	case err := <-fails:
		return err
	default:
	}
	filled := time.Since(began)
	return measure(o, &c, before, filled, fails)
}

// settle is how long the groups have to come to rest before the measurement.
const settle = 10 * time.Second

func measure(o options, c *counters, empty usage, filled time.Duration, fails <-chan error) error {
	time.Sleep(settle)
	from, err := usageOf(o.pid)
	if err != nil {
		return err
	}
	beats, at := c.beats.Load(), time.Now()
	select {
	case err := <-fails:
		return err
	case <-time.After(o.length):
	}
	to, err := usageOf(o.pid)
	if err != nil {
		return err
	}
	took := time.Since(at)
	fmt.Printf("%s: %d groups, %d members filled in %.1fs; %.0f heartbeats/s; cpu %.1f%% of a core; memory %.0f MiB empty, %.0f MiB full, %.0f MiB at the end; %d errors\n",
		o.protocol, o.groups, c.joined.Load(), filled.Seconds(), float64(c.beats.Load()-beats)/took.Seconds(),
		100*(to.cpu-from.cpu).Seconds()/took.Seconds(), mib(empty.rss), mib(from.rss), mib(to.rss), c.faults.Load())
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
