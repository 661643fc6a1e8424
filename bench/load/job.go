package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/samsalog/samsa/bench/figure"
)

// Kind is what a job does.
type Kind string

// The kinds of jobs.
const (
	Produce Kind = "produce" // so many records as fast as they are taken
	Consume Kind = "consume" // so many records from the beginning, by each client
	Drain   Kind = "drain"   // as Consume with one client, of one partition, without decoding
	Latency Kind = "latency" // at a rate, from due to consumed
	Tail    Kind = "tail"    // as Latency, in a topic that holds something already
	Single  Kind = "single"  // one record at a time by each client, acknowledged before the next
	Encoded Kind = "encoded" // as Single, with clients that send a request encoded once
	Raw     Kind = "raw"     // one KiB at a time over a bare connection
	Dirty   Kind = "dirty"   // writes a file beside the broker until it is stopped
)

// Job is the work of one client process.
type Job struct {
	Kind     Kind
	Protocol string // "kafka" or "nats"
	Addr     string
	Topic    string
	// Partitions is how many the topic has.
	Partitions  int
	Records     int64
	RecordBytes int
	// Text makes the records look like lines of a log, which compress; else they are random letters.
	Text bool
	// Keys is among how many different keys records are spread; 0 for none.
	Keys       int
	BatchBytes int
	// Acks is "all" or "1". Idempotent needs all.
	Acks       string
	Idempotent bool
	Codec      string // none, lz4, zstd, snappy, gzip
	Clients    int
	// Idle is how many further connections are held open and do nothing.
	Idle int
	// Rate is in records a second, for Latency; in MB a second for Dirty.
	Rate     float64
	Duration time.Duration
	// File is what Dirty writes.
	File string
}

// Result is what a client saw.
type Result struct {
	Records int64
	Bytes   int64 // of values
	Seconds float64
	// CPUSeconds are user and system time of the whole process, filled in by Run.
	CPUSeconds float64
	// P50 to Max are latencies in milliseconds; 0 for jobs that measure none.
	P50, P90, P99, P999, Max float64
}

// Rate is in records a second.
func (r Result) Rate() float64 { return float64(r.Records) / r.Seconds }

// latencies fills in the percentiles from latencies in nanoseconds, which it sorts.
func (r *Result) latencies(ns []int64) {
	slices.Sort(ns)
	ms := func(p float64) float64 { return float64(figure.Percentile(ns, p)) / 1e6 }
	r.P50, r.P90, r.P99, r.P999, r.Max = ms(0.5), ms(0.9), ms(0.99), ms(0.999), ms(1)
}

// Run starts self, a program that calls Main when its only argument is "load", and waits for the result.
func Run(ctx context.Context, self string, j Job) (Result, error) {
	cmd, out, err := command(ctx, self, j)
	if err != nil {
		return Result{}, err
	}
	if err := cmd.Run(); err != nil {
		return Result{}, fmt.Errorf("load %s: %w: %s", j.Kind, err, strings.TrimSpace(cmd.Stderr.(*bytes.Buffer).String()))
	}
	var r Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return Result{}, fmt.Errorf("load %s: %w", j.Kind, err)
	}
	r.CPUSeconds = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r, nil
}

// Start starts self for a job that goes on until the returned function is called.
func Start(ctx context.Context, self string, j Job) (stop func(), err error) {
	cmd, _, err := command(ctx, self, j)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("load %s: %w", j.Kind, err)
	}
	return func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	}, nil
}

func command(ctx context.Context, self string, j Job) (*exec.Cmd, *bytes.Buffer, error) {
	spec, err := json.Marshal(j)
	if err != nil {
		return nil, nil, fmt.Errorf("load: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "load")
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(spec), &out, &bytes.Buffer{}
	return cmd, &out, nil
}

// clientGOGC lets the client collect less often than by default: it shares the processors with the broker, and what
// is measured is the broker.
const clientGOGC = 400

// Main is the client process.
func Main(ctx context.Context, in io.Reader, out io.Writer) error {
	var j Job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(clientGOGC)
	}
	r, err := j.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

func (j Job) run(ctx context.Context) (Result, error) {
	switch {
	case j.Kind == Dirty:
		return j.dirty(ctx)
	case j.Kind == Raw:
		return j.raw()
	case j.Protocol == "nats":
		return j.nats(ctx)
	case j.Protocol != "kafka":
		return Result{}, fmt.Errorf("protocol %q", j.Protocol)
	}
	switch j.Kind {
	case Produce:
		return j.produce(ctx)
	case Consume:
		return j.consume(ctx)
	case Drain:
		return j.drain(ctx)
	case Latency, Tail:
		return j.latency(ctx)
	case Single:
		return j.single(ctx)
	case Encoded:
		return j.encoded(ctx)
	default:
		return Result{}, fmt.Errorf("job %q", j.Kind)
	}
}
