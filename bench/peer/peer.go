package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/samsalog/samsa/bench/proc"
)

// Name names a peer in rows and results.
type Name string

// The peers.
const (
	Samsa   Name = "samsa"
	Kafka   Name = "kafka"   // Apache Kafka 4.4.0
	Minimum Name = "minimum" // reads, checks, writes, answers
	Answers Name = "answers" // only answers
	Kfake   Name = "kfake"   // franz-go's broker for tests, in memory
	NATS    Name = "nats"    // JetStream with files
	Raw     Name = "raw"     // takes 1 KiB, appends it to a file, answers
	Machine Name = "machine" // no server: what the machine can do
)

// Before is the other revision of Samsa that a comparison is made with.
const Before Name = "samsa before"

// IsSamsa tells whether n is a revision of Samsa.
func (n Name) IsSamsa() bool { return n == Samsa || n == Before }

// Protocol returns what a client of the peer speaks.
func (n Name) Protocol() string {
	if n == NATS {
		return "nats"
	}
	return "kafka"
}

// Running is a process that serves.
type Running struct {
	Name Name
	Addr string
	// Dir is its data directory.
	Dir string
	// Began is when the process was started.
	Began time.Time
	cmd   *exec.Cmd
	done  chan struct{}
}

// PID is the number of the process.
func (r *Running) PID() int { return r.cmd.Process.Pid }

// Usage is what the process has used until now.
func (r *Running) Usage() (proc.Usage, error) {
	u, err := proc.Of(r.PID())
	if err != nil {
		return u, fmt.Errorf("usage of %s: %w", r.Name, err)
	}
	return u, nil
}

// stopping is how long a peer may take to end cleanly; Apache Kafka needs minutes for ten thousand partitions when the
// machine is busy.
const stopping = 10 * time.Minute

// Stop ends the process cleanly. One that does not end in time is killed, and that is an error.
func (r *Running) Stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", r.Name, err)
	}
	select {
	case <-r.done:
		return nil
	case <-time.After(stopping):
		r.Kill()
		return fmt.Errorf("%s did not stop in %s", r.Name, stopping)
	}
}

// Kill ends the process as kill -9 does.
func (r *Running) Kill() {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	<-r.done
}

// Launcher starts peers.
type Launcher struct {
	// Binaries are the programs of Samsa and, in a comparison, Before.
	Binaries map[Name]string
	// Jars is the directory of Apache Kafka's jars; "" when there are none.
	Jars string
	// Self is a program that serves what package inside has when called with "serve".
	Self string
	// Settings are added to those of every start, for Samsa and Apache Kafka.
	Settings map[string]string
	// FirstPort is the first of the ports that may be used; 0 for any.
	FirstPort int
	nextPort  int
}

// Missing says why a peer cannot run here; "" if it can.
func (l *Launcher) Missing(n Name) string {
	switch {
	case n.IsSamsa() && l.Binaries[n] == "":
		return "no such revision in this run"
	case n != Kafka:
		return ""
	case l.Jars == "":
		return "no jars of Apache Kafka: run scripts/interop.sh install, or name their directory with -jars"
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "no JVM"
	}
	return ""
}

// Launch starts the process of a peer in dir and returns at once; Start waits until it answers.
func (l *Launcher) Launch(ctx context.Context, n Name, dir string, settings map[string]string) (*Running, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", n, err)
	}
	port, err := l.port()
	if err != nil {
		return nil, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	all := l.settings(settings)
	var args []string
	switch {
	case n.IsSamsa():
		args = samsaCommand(l.Binaries[n], addr, dir, all)
	case n == Kafka:
		if args, err = l.kafkaCommand(ctx, port, dir, all); err != nil {
			return nil, err
		}
	default:
		args = []string{l.Self, "serve", string(n), addr, dir}
	}
	log, err := os.OpenFile(dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", n, err)
	}
	defer log.Close()
	r := &Running{Name: n, Addr: addr, Dir: dir, cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.Began = time.Now()
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", n, err)
	}
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait() // how it ended is in its log
	}()
	return r, nil
}

// Start starts a peer in dir and waits until it answers.
func (l *Launcher) Start(ctx context.Context, n Name, dir string, settings map[string]string) (*Running, error) {
	r, err := l.Launch(ctx, n, dir, settings)
	if err != nil {
		return nil, err
	}
	if err := r.ready(ctx); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}

// starting is how long a peer may take until it answers.
const starting = 3 * time.Minute

func (r *Running) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for {
		err := r.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-r.done:
			return fmt.Errorf("%s ended while starting:\n%s", r.Name, r.lastLines())
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer: %w:\n%s", r.Name, err, r.lastLines())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// lastLines returns the end of the log.
func (r *Running) lastLines() string {
	b, err := os.ReadFile(r.Dir + ".log")
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return string(bytes.Join(lines[max(len(lines)-15, 0):], []byte("\n")))
}
