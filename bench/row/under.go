package row

import (
	"context"
	"errors"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/proc"
)

// Names of figures that several rows and marks share.
const (
	Rate       = "rate"
	BrokerCPU  = "broker CPU"
	ClientCPU  = "client CPU"
	PeakMemory = "peak memory"
	Written    = "to disk"
	ReadBytes  = "from disk"
	P50        = "p50"
	P99        = "p99"
	P999       = "p99.9"
)

// mib is for memory; rates are in decimal MB.
const mib = 1 << 20

// Load runs a job against r and returns what both sides saw, without the figures of the row.
func (t Turn) Load(ctx context.Context, r *peer.Running, j load.Job) (load.Result, error) {
	j.Addr, j.Protocol = r.Addr, r.Name.Protocol()
	return load.Run(ctx, t.Self, j)
}

// Under puts r under load and returns rate, processor time of both sides, memory and bytes to disk.
func (t Turn) Under(ctx context.Context, r *peer.Running, j load.Job) ([]figure.Value, load.Result, error) {
	if err := proc.ForgetPeak(r.PID()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, load.Result{}, err
	}
	before, err := r.Usage()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, load.Result{}, err
	}
	told := err == nil
	result, err := t.Load(ctx, r, j)
	if err != nil {
		return nil, result, err
	}
	values := []figure.Value{Value(Rate, "records/s", result.Rate())}
	if told {
		after, err := r.Usage()
		if err != nil {
			return nil, result, err
		}
		values = append(values, used(before, after, result)...)
	}
	return append(values, Value(ClientCPU, "µs/record", result.CPUSeconds*1e6/float64(result.Records))), result, nil
}

// used relates what a broker used to what was done.
func used(before, after proc.Usage, r load.Result) []figure.Value {
	return []figure.Value{
		Value(BrokerCPU, "µs/record", (after.CPU-before.CPU).Seconds()*1e6/float64(r.Records)),
		Value(PeakMemory, "MiB", float64(after.Peak)/mib),
		Value(Written, "bytes/byte", float64(after.Written-before.Written)/float64(r.Bytes)),
		Value(ReadBytes, "bytes/byte", float64(after.Read-before.Read)/float64(r.Bytes)),
	}
}

// Latencies returns the percentiles of a result.
func Latencies(r load.Result) []figure.Value {
	return []figure.Value{Value(P50, "ms", r.P50), Value(P99, "ms", r.P99), Value(P999, "ms", r.P999)}
}

// Without leaves figures out by name.
func Without(values []figure.Value, names ...string) []figure.Value {
	var kept []figure.Value
	for _, v := range values {
		out := false
		for _, n := range names {
			out = out || v.Name == n
		}
		if !out {
			kept = append(kept, v)
		}
	}
	return kept
}
