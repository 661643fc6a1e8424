package interop

import (
	"context"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// numbered makes n records with values first, first+1, … spread over partitions.
func numbered(first, n int, partitions int32) []message {
	var messages []message
	for i := first; i < first+n; i++ {
		messages = append(messages, message{partition: int32(i) % partitions, value: []byte("n" + strconv.Itoa(i)), timestampMs: 1_700_000_000_000})
	}
	return messages
}

// collector counts how often each value was delivered to the members of a group.
type collector struct {
	in  chan message
	end sync.WaitGroup
	mu  sync.Mutex
	got map[string]int
}

func newCollector() *collector {
	c := &collector{in: make(chan message), got: map[string]int{}}
	c.end.Add(1)
	go func() {
		defer c.end.Done()
		for m := range c.in {
			c.mu.Lock()
			c.got[string(m.value)]++
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *collector) close() { close(c.in); c.end.Wait() }

func (c *collector) distinct() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.got)
}

// missing lists wanted values that nobody has got, and repeated how many came more than once.
func (c *collector) missing(want []message) (missing []string, repeated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range want {
		switch n := c.got[string(m.value)]; {
		case n == 0:
			missing = append(missing, string(m.value))
		case n > 1:
			repeated++
		}
	}
	return missing, repeated
}

// eventually polls until ok, or fails at the deadline.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited %v for: %s", patience, what)
		}
	}
}

// TestGroupsRebalanceAndResume lets two members share the partitions, one leave, all leave, and one come
// back: at every step the partitions are all owned, no record is missed, and none is repeated once the
// group had committed it.
func TestGroupsRebalanceAndResume(t *testing.T) {
	addr := sharedBroker(t)
	const partitions, batch = 4, 200
	for _, c := range clients() {
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
			defer cancel()
			topic := createTopic(t, addr, "group-"+c.name(), partitions)
			group := topic
			write := func(first int) []message {
				ms := numbered(first, batch, partitions)
				if err := (franzClient{}).produce(ctx, addr, topic, "none", ms); err != nil {
					t.Fatal(err)
				}
				return ms
			}
			join := func(out *collector) member {
				m, err := c.join(addr, group, topic, out.in)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			stop := func(m member) {
				if err := m.stop(); err != nil {
					t.Errorf("stop: %v", err)
				}
			}
			first := newCollector()
			want := write(0)
			a := join(first)
			eventually(t, "one member owns all partitions", func() bool { return a.assigned() == partitions })
			b := join(first)
			eventually(t, "two members share the partitions", func() bool { return a.assigned() == 2 && b.assigned() == 2 })
			want = append(want, write(batch)...)
			eventually(t, "both together get everything", func() bool { return first.distinct() == 2*batch })
			stop(a)
			eventually(t, "the one that stays owns all partitions", func() bool { return b.assigned() == partitions })
			want = append(want, write(2*batch)...)
			eventually(t, "the one that stays gets everything", func() bool { return first.distinct() == 3*batch })
			stop(b)
			first.close()
			if missing, repeated := first.missing(want); len(missing) > 0 || repeated > 0 {
				t.Errorf("missing %v, repeated %d", missing, repeated)
			}

			second := newCollector()
			want = write(3 * batch)
			d := join(second)
			eventually(t, "who comes back gets what is new", func() bool { return second.distinct() >= batch })
			stop(d)
			second.close()
			if missing, _ := second.missing(want); len(missing) > 0 || second.distinct() != batch {
				t.Errorf("came back to %d records of %d, missing %v", second.distinct(), batch, missing)
			}
		})
	}
}

// TestClientsSurviveARestart keeps a producer and a group member of each kind over a restart of the broker
// on the same directory and address: the member goes on where it was.
func TestClientsSurviveARestart(t *testing.T) {
	if os.Getenv(ownBroker) == "" {
		t.Skip("BROKER names a broker that these tests cannot restart")
	}
	const partitions, batch = 2, 100
	dir := t.TempDir()
	broker, err := startBroker(dir, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := broker.Addr()
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	type running struct {
		client
		topic string
		seen  *collector
		m     member
		want  []message
	}
	var all []*running
	for _, c := range clients() {
		r := &running{client: c, topic: createTopic(t, addr, "restart-"+c.name(), partitions), seen: newCollector()}
		if r.m, err = c.join(addr, r.topic, r.topic, r.seen.in); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	round := func(first int) {
		for _, r := range all {
			ms := numbered(first, batch, partitions)
			if err := r.produce(ctx, addr, r.topic, "lz4", ms); err != nil {
				t.Fatalf("%s: %v", r.name(), err)
			}
			r.want = append(r.want, ms...)
		}
		for _, r := range all {
			eventually(t, r.name()+" gets everything", func() bool { return r.seen.distinct() == first+batch })
		}
	}
	round(0)
	if err := broker.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if broker, err = startBroker(dir, addr); err != nil {
		t.Fatal(err)
	}
	round(batch)
	for _, r := range all {
		if err := r.m.stop(); err != nil {
			t.Errorf("%s: stop: %v", r.name(), err)
		}
		r.seen.close()
		if missing, _ := r.seen.missing(r.want); len(missing) > 0 {
			t.Errorf("%s missed %v", r.name(), missing)
		}
	}
	if err := broker.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	// What was written is there after one more start, for every reader.
	if broker, err = startBroker(dir, addr); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		got, err := r.consume(ctx, addr, r.topic, partitions, len(r.want))
		if err != nil {
			t.Fatalf("%s: %v", r.name(), err)
		}
		compareMessages(t, r.sees(r.want), got)
	}
	if err := broker.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}
