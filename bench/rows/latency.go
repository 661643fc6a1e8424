package rows

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// dirtyRate is how many MB a second are written beside the brokers: enough that the system is always writing back.
const dirtyRate = 150

func latencyRows() []row.Row {
	var all []row.Row
	for _, rate := range []float64{1_000, 20_000, 100_000} {
		for _, beside := range []bool{false, true} {
			name := fmt.Sprintf("latency/%gk/s", rate/1000)
			peers := both()
			if beside {
				name += " beside write-back"
			} else {
				peers = append(peers, peer.Minimum, peer.NATS)
			}
			all = append(all, row.Row{
				Name: name, Peers: peers, Standing: true,
				Needs: func(b *row.Bench) int64 { return latencyNeeds(b, rate, beside) },
				Run:   func(ctx context.Context, t row.Turn) ([]figure.Value, error) { return runLatency(ctx, t, rate, beside) },
				Marks: []figure.Mark{
					ofKafka(name, row.P50, 0, 0.6), ofKafka(name, row.P99, 0, 0.5),
				},
			})
		}
	}
	return all
}

// latencyLasts is how long records are sent, in seconds at scale 1.
const latencyLasts = 4

func latencyNeeds(b *row.Bench, rate float64, beside bool) int64 {
	bytes := rate * recordBytes
	if beside {
		bytes += dirtyRate * 1e6
	}
	return int64(bytes * seconds(b, latencyLasts).Seconds())
}

func runLatency(ctx context.Context, t row.Turn, rate float64, beside bool) ([]figure.Value, error) {
	topic := t.Topic()
	if err := t.Running.CreateTopic(ctx, topic, 1, nil); err != nil {
		return nil, err
	}
	if beside {
		stop, err := load.Start(ctx, t.Self, load.Job{Kind: load.Dirty, Rate: dirtyRate, File: filepath.Join(t.Dir, "beside")})
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	values, result, err := t.Under(ctx, t.Running, load.Job{Kind: load.Latency, Topic: topic, Partitions: 1, RecordBytes: recordBytes, BatchBytes: 1 << 20,
		Acks: "all", Idempotent: true, Rate: rate, Duration: seconds(t.Bench, latencyLasts)})
	if err != nil {
		return nil, err
	}
	values = append(row.Latencies(result), row.Without(values, row.Rate, row.Written, row.ReadBytes, row.PeakMemory)...)
	return values, t.Running.DeleteTopic(ctx, topic)
}
