package samsa_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/samsalog/samsa"
)

// Environment of the process that TestX07KilledBroker kills: this test binary, running TestBrokerProcess.
const (
	processDir    = "SAMSA_TEST_PROCESS_DIR"
	processListen = "SAMSA_TEST_PROCESS_LISTEN"
	// key=value, separated by blanks
	processProperties = "SAMSA_TEST_PROCESS_PROPERTIES"
)

// TestBrokerProcess is a broker in a process of its own, to be killed. It prints its address and serves until
// its standard input ends.
func TestBrokerProcess(t *testing.T) {
	dir := os.Getenv(processDir)
	if dir == "" {
		t.Skip("only run by TestX07KilledBroker")
	}
	props := map[string]string{}
	for _, p := range strings.Fields(os.Getenv(processProperties)) {
		key, value, _ := strings.Cut(p, "=")
		props[key] = value
	}
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{dir}, Listen: os.Getenv(processListen), Properties: props})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\naddress %s\n", b.Addr())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Error(err)
	}
	stop(t, b)
}

// brokerProcess is a running TestBrokerProcess.
type brokerProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string
}

func startProcess(t *testing.T, dir, listen string) *brokerProcess {
	t.Helper()
	return startCommand(t, exec.Command(os.Args[0], "-test.run=^TestBrokerProcess$", "-test.v"), dir, listen)
}

// startCommand is startProcess with a command of the test's own that ends up running TestBrokerProcess.
func startCommand(t *testing.T, cmd *exec.Cmd, dir, listen string) *brokerProcess {
	t.Helper()
	cmd.Env = append(os.Environ(), processDir+"="+dir, processListen+"="+listen)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &brokerProcess{cmd: cmd, stdin: stdin}
	t.Cleanup(func() { p.kill(); stdin.Close() })
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "address "); ok {
			p.addr = addr
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return p
		}
	}
	t.Fatalf("the broker's process ended: %v", cmd.Wait())
	return nil
}

// stop lets the broker stop in order.
func (p *brokerProcess) stop(t *testing.T) {
	t.Helper()
	_ = p.stdin.Close() // a pipe
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the broker's process: %v", err)
	}
}

// kill ends the process without giving it a chance (SIGKILL). Killing twice does nothing.
func (p *brokerProcess) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// TestX07KilledBroker kills the broker several times while an idempotent producer writes and a reader reads.
// Every record that was acknowledged is there once, where it was acknowledged, and the reader never sees an
// offset go back.
func TestX07KilledBroker(t *testing.T) {
	const rounds, perRound, partitions = 3, 1500, 2
	dir := t.TempDir()
	process := startProcess(t, dir, "127.0.0.1:0")
	addr := process.addr
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic("killed"),
		kgo.ProducerBatchMaxBytes(16<<10), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	createTopic(t, cl, "killed", partitions)
	reader := watch(t, addr, "killed")
	acked := acknowledged{}
	for round := range rounds {
		acked.produce(t, cl, round*perRound, perRound, partitions)
		eventually(t, "a third is acknowledged", func() bool { return acked.count() > round*perRound+perRound/3 })
		process.kill()
		process = startProcess(t, dir, addr)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if got := acked.count(); got != rounds*perRound {
		t.Fatalf("%d of %d records were acknowledged; errors: %v", got, rounds*perRound, acked.err())
	}
	eventually(t, "the reader has seen everything", func() bool { return reader.count() >= rounds*perRound })
	acked.compare(t, reader.stop())
}

// acknowledged notes where each record was acknowledged.
type acknowledged struct {
	mu     sync.Mutex
	at     map[string]string // value by "partition/offset"
	failed error
}

func place(r *kgo.Record) string { return fmt.Sprintf("%d/%d", r.Partition, r.Offset) }

func (a *acknowledged) produce(t *testing.T, cl *kgo.Client, first, n int, partitions int32) {
	for i := first; i < first+n; i++ {
		cl.Produce(context.WithoutCancel(t.Context()), &kgo.Record{Partition: int32(i) % partitions, Value: []byte(strconv.Itoa(i))}, func(r *kgo.Record, err error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if err != nil {
				a.failed = errors.Join(a.failed, err)
				return
			}
			if a.at == nil {
				a.at = map[string]string{}
			}
			a.at[place(r)] = string(r.Value)
		})
	}
}

func (a *acknowledged) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at)
}

func (a *acknowledged) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// compare checks what the reader saw against what was acknowledged, in both directions.
func (a *acknowledged) compare(t *testing.T, seen []*kgo.Record) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(seen) != len(a.at) {
		t.Errorf("the reader saw %d records, %d were acknowledged", len(seen), len(a.at))
	}
	last := map[int32]int64{}
	for _, r := range seen {
		if before, ok := last[r.Partition]; ok && r.Offset <= before {
			t.Errorf("partition %d: offset %d came after %d", r.Partition, r.Offset, before)
		}
		last[r.Partition] = r.Offset
		if want := a.at[place(r)]; want != string(r.Value) {
			t.Errorf("%s holds %s, acknowledged there was %q", place(r), r.Value, want)
		}
	}
}

// watcher reads a topic from the beginning and keeps all it has seen.
type watcher struct {
	cl     *kgo.Client
	cancel context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	seen   []*kgo.Record
}

func watch(t *testing.T, addr, topic string) *watcher {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{cl: cl, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			records := cl.PollFetches(ctx).Records()
			w.mu.Lock()
			w.seen = append(w.seen, records...)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// stop ends the reading and returns what was seen, in order.
func (w *watcher) stop() []*kgo.Record {
	w.cancel()
	<-w.done
	w.cl.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}
