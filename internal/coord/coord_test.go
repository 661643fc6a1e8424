package coord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a machine that keeps the sum of the values by key, and what it was told.
type counter struct {
	timers *Timers
	sums   map[string]int
	// open holds what transactions have added so far.
	open     map[record.ProducerID]map[string]int
	offsets  []record.Offset
	loaded   bool
	unloaded chan struct{}
	refuse   string
}

func newCounter(_ int32, _ record.LeaderEpoch, t *Timers) *counter {
	return &counter{timers: t, sums: map[string]int{}, open: map[record.ProducerID]map[string]int{}, unloaded: make(chan struct{})}
}

func (c *counter) Replay(r Replayed) error {
	if c.refuse != "" && string(r.Key) == c.refuse {
		return errors.New("refused")
	}
	c.offsets = append(c.offsets, r.Offset)
	if r.Value == nil {
		delete(c.sums, string(r.Key))
		return nil
	}
	n := int(binary.BigEndian.Uint32(r.Value))
	if r.ProducerID >= 0 {
		if c.open[r.ProducerID] == nil {
			c.open[r.ProducerID] = map[string]int{}
		}
		c.open[r.ProducerID][string(r.Key)] += n
		return nil
	}
	c.sums[string(r.Key)] += n
	return nil
}

func (c *counter) ReplayMarker(id record.ProducerID, commit bool) {
	for k, n := range c.open[id] {
		if commit {
			c.sums[k] += n
		}
	}
	delete(c.open, id)
}

func (c *counter) Loaded() Result { c.loaded = true; return None() }
func (c *counter) Unloaded()      { close(c.unloaded) }

func add(key string, n int) Record {
	return Record{Key: []byte(key), Value: binary.BigEndian.AppendUint32(nil, uint32(n))}
}

// partition is a leader's partition over a log in memory.
type partition struct {
	log   *storage.Log
	epoch record.LeaderEpoch

	mu      sync.Mutex
	batches []record.Batch
	fail    error
	// lagging: the high watermark does not follow appends.
	lagging bool
}

func (p *partition) Append(b []byte, o storage.AppendOptions) (storage.AppendInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return storage.AppendInfo{}, p.fail
	}
	info, err := p.log.Append(b, o)
	if err == nil {
		p.batches = append(p.batches, slices.Clone(b))
		if !p.lagging {
			p.log.SetHighWatermark(p.log.LogEndOffset())
		}
	}
	return info, err
}

func (p *partition) Log() *storage.Log               { return p.log }
func (p *partition) LeaderEpoch() record.LeaderEpoch { return p.epoch }
func (p *partition) written() []record.Batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.batches)
}

func newPartition(t *testing.T, change func(*storage.Config)) *partition {
	t.Helper()
	fs := vfs.NewMem()
	c := storage.DefaultConfig()
	if change != nil {
		change(&c)
	}
	l, err := storage.Open(storage.Options{
		FS: fs, Handles: vfs.NewHandles(fs, 16), Dir: "/d/t-0",
		TopicPartition: record.TopicPartition{Topic: "t"}, Config: c, Clean: true, SkipTxnVerification: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &partition{log: l}
}

func newRuntime(t *testing.T, o Options[*counter]) *Runtime[*counter] {
	t.Helper()
	if o.New == nil {
		o.New = newCounter
	}
	o.Topic = "t"
	r := NewRuntime(o)
	t.Cleanup(r.Close)
	return r
}

// run does an operation and waits for its end.
func run(t *testing.T, r *Runtime[*counter], f func(c *counter) Result) error {
	t.Helper()
	done := make(chan error, 1)
	err := r.Submit(0, Op[*counter]{
		Run:  func(c *counter) Result { return finally(f(c), done) },
		Fail: func(err error) { done <- err },
	})
	if err != nil {
		return err
	}
	return <-done
}

func finally(r Result, done chan error) Result {
	before := r.Done
	r.Done = func(err error) Result {
		var more Result
		if before != nil {
			more = before(err)
		}
		done <- err
		return more
	}
	return r
}

func sums(t *testing.T, r *Runtime[*counter]) string {
	t.Helper()
	var out []string
	if err := run(t, r, func(c *counter) Result {
		for k, n := range c.sums {
			out = append(out, fmt.Sprintf("%s=%d", k, n))
		}
		return None()
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestWriteAndLoad(t *testing.T) {
	p := newPartition(t, nil)
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	for i := range 3 {
		if err := run(t, r, func(*counter) Result { return Result{Records: []Record{add("a", i), add("b", 1)}} }); err != nil {
			t.Fatal(err)
		}
	}
	if got := sums(t, r); got != "a=3 b=3" {
		t.Fatalf("sums after writing: %s", got)
	}
	h := p.written()[0].Header()
	if h.ProducerID != -1 || h.ProducerEpoch != -1 || h.BaseSequence != 0 || h.Count != 2 {
		t.Errorf("header %+v: want producer -1, base sequence 0, 2 records", h)
	}
	p.epoch++
	r.Elected(0, p)
	<-r.Settled(0)
	if got := sums(t, r); got != "a=3 b=3" {
		t.Fatalf("sums after loading: %s", got)
	}
	if err := run(t, r, func(c *counter) Result {
		if want := []record.Offset{0, 1, 2, 3, 4, 5}; !slices.Equal(c.offsets, want) {
			t.Errorf("offsets replayed: %v, want %v", c.offsets, want)
		}
		return None()
	}); err != nil {
		t.Fatal(err)
	}
}

// Operations that share stand in one batch; one that does not sees what they wrote (COORD-5).
func TestOperationsShareBatches(t *testing.T) {
	p := newPartition(t, nil)
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	hold, results := make(chan struct{}), make(chan error, 100)
	submit := func(shares bool, f func(c *counter) Result) {
		err := r.Submit(0, Op[*counter]{Shares: shares, Run: func(c *counter) Result { return finally(f(c), results) }})
		if err != nil {
			t.Fatal(err)
		}
	}
	submit(false, func(*counter) Result { <-hold; return None() })
	for range 5 {
		submit(true, func(c *counter) Result { return Result{Records: []Record{add("a", 1)}} })
	}
	seen := 0
	submit(false, func(c *counter) Result { seen = c.sums["a"]; return Result{Records: []Record{add("b", 1)}} })
	submit(true, func(c *counter) Result { return Result{Records: []Record{add("c", 1)}} })
	close(hold)
	for range 8 {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if seen != 5 {
		t.Errorf("an operation that does not share saw %d, want 5", seen)
	}
	var counts []int32
	for _, b := range p.written() {
		counts = append(counts, b.Header().Count)
	}
	if want := []int32{5, 2}; !slices.Equal(counts, want) {
		t.Errorf("records by batch: %v, want %v", counts, want)
	}
}

func TestBatchesStayBelowTheLimit(t *testing.T) {
	p := newPartition(t, func(c *storage.Config) { c.MaxMessageBytes = 1000 })
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	many := make([]Record, 100)
	for i := range many {
		many[i] = add("k", 1)
	}
	if err := run(t, r, func(*counter) Result { return Result{Records: many} }); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("100 records in one batch of 1000 bytes: %v, want ErrTooLarge", err)
	}
	if got := sums(t, r); got != "" {
		t.Fatalf("a refused batch was applied: %s", got)
	}
	if err := run(t, r, func(*counter) Result { return Result{Records: many, Divisible: true} }); err != nil {
		t.Fatal(err)
	}
	if got := sums(t, r); got != "k=100" {
		t.Fatalf("sums: %s", got)
	}
	if n := len(p.written()); n < 2 {
		t.Errorf("%d batches, want several", n)
	}
}

func TestAppendErrors(t *testing.T) {
	full := errors.New("too few replicas")
	host := func(err error) error {
		if errors.Is(err, full) {
			return ErrNotAvailable
		}
		return nil
	}
	for _, c := range []struct{ fail, want error }{
		{storage.ErrMessageTooLarge, ErrTooLarge},
		{storage.ErrRecordListTooLarge, ErrTooLarge},
		{storage.ErrStorage, ErrNotCoordinator},
		{errors.New("not the leader"), ErrNotCoordinator},
		{full, ErrNotAvailable},
	} {
		p := newPartition(t, nil)
		r := newRuntime(t, Options[*counter]{AppendError: host})
		r.Elected(0, p)
		<-r.Settled(0)
		p.mu.Lock()
		p.fail = c.fail
		p.mu.Unlock()
		if err := run(t, r, func(*counter) Result { return Result{Records: []Record{add("a", 1)}} }); !errors.Is(err, c.want) {
			t.Errorf("append fails with %v: got %v, want %v", c.fail, err, c.want)
		}
		if got := sums(t, r); got != "" {
			t.Errorf("records that were not written are applied: %s", got)
		}
	}
}

// A completion may leave more to be written, which is completed too.
func TestCompletionsLeaveMore(t *testing.T) {
	p := newPartition(t, nil)
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	end := make(chan error, 1)
	err := r.Submit(0, Op[*counter]{Run: func(*counter) Result {
		return Result{Records: []Record{add("a", 1)}, Done: func(error) Result {
			return Result{Records: []Record{add("a", 10)}, Done: func(err error) Result { end <- err; return None() }}
		}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	if got := sums(t, r); got != "a=11" {
		t.Errorf("sums: %s", got)
	}
}

func TestCompletionsWaitForTheHighWatermark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPartition(t, nil)
		p.lagging = true
		r := newRuntime(t, Options[*counter]{CommitTimeout: 5 * time.Second})
		r.Elected(0, p)
		<-r.Settled(0)
		var mu sync.Mutex
		var order []string
		completed := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(order) }
		submit := func(name string, res Result) {
			res.Done = func(err error) Result {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(name, " ", err == nil))
				return None()
			}
			if err := r.Submit(0, Op[*counter]{Run: func(*counter) Result { return res }}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		submit("one", Result{Records: []Record{add("a", 1)}})
		submit("read", Result{})
		submit("two", Result{Records: []Record{add("a", 1)}})
		if got := completed(); len(got) != 0 {
			t.Fatalf("completed before the high watermark moved: %v", got)
		}
		p.log.SetHighWatermark(1)
		r.Advanced(0)
		synctest.Wait()
		if got, want := completed(), []string{"one true", "read true"}; !slices.Equal(got, want) {
			t.Fatalf("completed at high watermark 1: %v, want %v", got, want)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got, want := completed(), []string{"one true", "read true", "two false"}; !slices.Equal(got, want) {
			t.Fatalf("completed after the timeout: %v, want %v", got, want)
		}
		r.Close()
	})
}

func TestTimersFireInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPartition(t, nil)
		r := newRuntime(t, Options[*counter]{})
		r.Elected(0, p)
		<-r.Settled(0)
		start := time.Now()
		var mu sync.Mutex
		var fired []string
		note := func(name string) func() Result {
			return func() Result {
				mu.Lock()
				defer mu.Unlock()
				fired = append(fired, fmt.Sprint(name, " ", time.Since(start)))
				return None()
			}
		}
		err := run(t, r, func(c *counter) Result {
			c.timers.AfterFunc(3*time.Second, note("c"))
			a := c.timers.AfterFunc(time.Second, note("a"))
			b := c.timers.AfterFunc(time.Second, note("b"))
			b.Stop()
			b.Stop()
			a.Reset(2 * time.Second)
			c.timers.AfterFunc(0, note("now"))
			return None()
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"now 0s", "a 2s", "c 3s"}; !slices.Equal(fired, want) {
			t.Errorf("fired %v, want %v", fired, want)
		}
		r.Close()
	})
}

func TestTransactionsAreReplayed(t *testing.T) {
	p := newPartition(t, nil)
	write := func(id record.ProducerID, control bool, key, value []byte) {
		o := record.DefaultBuilderOptions()
		o.ProducerID, o.ProducerEpoch, o.Transactional, o.Control = id, 0, true, control
		if !control {
			o.BaseSequence = 0
		}
		b := record.NewBuilder(o)
		b.Append(1, key, value, nil)
		if _, err := p.Append(b.Build(), storage.AppendOptions{Origin: storage.Coordinator}); err != nil {
			t.Fatal(err)
		}
	}
	for id, kind := range map[record.ProducerID]record.ControlType{1: record.ControlCommit, 2: record.ControlAbort} {
		x := add(fmt.Sprint("p", id), 1)
		write(id, false, x.Key, x.Value)
		write(id, true, record.ControlKey(kind), record.EndTxnMarker{Type: kind}.Value())
	}
	x := add("p3", 1)
	write(3, false, x.Key, x.Value)
	r := newRuntime(t, Options[*counter]{LoadBufferBytes: 1})
	r.Elected(0, p)
	<-r.Settled(0)
	if got := sums(t, r); got != "p1=1" {
		t.Errorf("sums: %s, want p1=1", got)
	}
}

func TestElections(t *testing.T) {
	p := newPartition(t, nil)
	p.epoch = 5
	r := newRuntime(t, Options[*counter]{})
	if err := run(t, r, func(*counter) Result { return None() }); err != ErrNotCoordinator {
		t.Fatalf("without a shard: %v", err)
	}
	machines := 0
	r.o.New = func(_ int32, epoch record.LeaderEpoch, timers *Timers) *counter {
		machines++
		return newCounter(0, epoch, timers)
	}
	r.Elected(0, p)
	<-r.Settled(0)
	older := newPartition(t, nil)
	older.epoch = 4
	r.Elected(0, older)
	r.Elected(0, p)
	if machines != 1 {
		t.Errorf("%d machines after notices of older and equal epochs, want 1", machines)
	}
	var first *counter
	if err := run(t, r, func(c *counter) Result { first = c; return None() }); err != nil {
		t.Fatal(err)
	}
	r.Resigned(0)
	<-first.unloaded
	if err := run(t, r, func(*counter) Result { return None() }); err != ErrNotCoordinator {
		t.Errorf("after resigning: %v", err)
	}
	if got := r.Partitions(); len(got) != 0 {
		t.Errorf("partitions after resigning: %v", got)
	}
	r.Elected(0, p)
	<-r.Settled(0)
	if machines != 2 {
		t.Errorf("%d machines after a new election, want 2", machines)
	}
}

// Operations are refused while the partition is read, patient ones wait (15.1 item 32: Elected itself does not).
func TestLoadingDoesNotBlock(t *testing.T) {
	p := newPartition(t, nil)
	if _, err := p.Append(oneRecord("slow"), storage.AppendOptions{Origin: storage.Coordinator}); err != nil {
		t.Fatal(err)
	}
	begun, hold := make(chan struct{}), make(chan struct{})
	r := newRuntime(t, Options[*counter]{})
	slow := &slowPartition{partition: p, begun: begun, hold: hold}
	r.Elected(0, slow)
	<-begun
	if err := run(t, r, func(*counter) Result { return None() }); err != ErrLoading {
		t.Errorf("while loading: %v, want ErrLoading", err)
	}
	patient := make(chan bool, 1)
	if err := r.Submit(0, Op[*counter]{Patient: true, Run: func(c *counter) Result { patient <- c.loaded; return None() }}); err != nil {
		t.Fatal(err)
	}
	close(hold)
	<-r.Settled(0)
	if loaded := <-patient; !loaded {
		t.Error("a patient operation ran before the machine was loaded")
	}
	if got := sums(t, r); got != "slow=1" {
		t.Errorf("sums: %s", got)
	}
}

// slowPartition hands its log out only when it may be read.
type slowPartition struct {
	*partition
	once        sync.Once
	begun, hold chan struct{}
}

func (p *slowPartition) Log() *storage.Log {
	p.once.Do(func() { close(p.begun); <-p.hold })
	return p.partition.Log()
}

func oneRecord(key string) []byte {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	x := add(key, 1)
	b.Append(1, x.Key, x.Value, nil)
	return b.Build()
}

func TestUnreadablePartitionIsNotServed(t *testing.T) {
	p := newPartition(t, nil)
	if _, err := p.Append(oneRecord("bad"), storage.AppendOptions{Origin: storage.Coordinator}); err != nil {
		t.Fatal(err)
	}
	r := newRuntime(t, Options[*counter]{New: func(_ int32, epoch record.LeaderEpoch, timers *Timers) *counter {
		c := newCounter(0, epoch, timers)
		c.refuse = "bad"
		return c
	}})
	r.Elected(0, p)
	<-r.Settled(0)
	if err := run(t, r, func(*counter) Result { return None() }); err != ErrNotCoordinator {
		t.Errorf("got %v, want ErrNotCoordinator", err)
	}
	r.Elected(1, &partition{epoch: 1})
	<-r.Settled(1)
	if err := r.Submit(1, Op[*counter]{}); err != ErrNotCoordinator {
		t.Errorf("a partition that is offline: %v, want ErrNotCoordinator", err)
	}
}

// Everybody is answered once, whatever happens to the shard (COORD-2).
func TestEveryOperationIsCompletedOnce(t *testing.T) {
	p := newPartition(t, nil)
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	var mu sync.Mutex
	counts := map[int]int{}
	done := func(i int) { mu.Lock(); counts[i]++; mu.Unlock() }
	var wg sync.WaitGroup
	accepted := 0
	for i := range 2000 {
		if i == 1000 {
			wg.Go(func() { r.Resigned(0) })
		}
		err := r.Submit(0, Op[*counter]{
			Shares: i%3 > 0,
			Run: func(*counter) Result {
				return Result{Records: []Record{add("a", 1)}, Done: func(error) Result { done(i); return None() }}
			},
			Fail: func(error) { done(i) },
		})
		if err == nil {
			accepted++
		}
	}
	wg.Wait()
	r.Close()
	for i, n := range counts {
		if n != 1 {
			t.Errorf("operation %d was completed %d times", i, n)
		}
	}
	if len(counts) != accepted {
		t.Errorf("%d operations were completed, %d accepted", len(counts), accepted)
	}
}

func TestQueueIsBounded(t *testing.T) {
	p := newPartition(t, nil)
	r := newRuntime(t, Options[*counter]{})
	r.Elected(0, p)
	<-r.Settled(0)
	started, hold := make(chan struct{}), make(chan struct{})
	if err := r.Submit(0, Op[*counter]{Run: func(*counter) Result { close(started); <-hold; return None() }}); err != nil {
		t.Fatal(err)
	}
	<-started
	for i := range QueueLimit {
		if err := r.Submit(0, Op[*counter]{Run: func(*counter) Result { return None() }}); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
	}
	if err := r.Submit(0, Op[*counter]{Run: func(*counter) Result { return None() }}); err != ErrNotAvailable {
		t.Errorf("beyond the limit: %v, want ErrNotAvailable", err)
	}
	close(hold)
}
