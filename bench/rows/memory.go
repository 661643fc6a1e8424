package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/proc"
	"github.com/samsalog/samsa/bench/row"
)

// memoryRows: idle, and whether it grows under a steady load. The peak under full load is in the produce rows.
func memoryRows() []row.Row {
	const idle, flat, hour = "memory/idle", "memory/steady load", "memory/steady load for an hour"
	return []row.Row{
		{
			Name: idle, Peers: both(), MostRounds: 2, Marks: []figure.Mark{absolute(idle, "resident", 15)}, Run: runIdle,
		},
		steadyMemory(flat, 30*time.Second, false), steadyMemory(hour, time.Hour, true),
	}
}

// settled is how long a broker is left alone before its memory is read.
const settled = 3 * time.Second

func runIdle(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	if err := t.RemoveOwn(); err != nil {
		return nil, err
	}
	r, err := t.Launcher.Start(ctx, t.Peer, t.Own(), nil)
	if err != nil {
		return nil, err
	}
	time.Sleep(settled)
	u, err := r.Usage()
	if err := errors.Join(err, r.Stop()); err != nil {
		return nil, err
	}
	return memory(u), nil
}

// memory returns what is resident, and how much of it are no pages of files: those of the program itself are most of what
// an idle broker has, and the system shares and drops them as it likes.
func memory(u proc.Usage) []figure.Value {
	return []figure.Value{row.Value("resident", "MiB", float64(u.Resident)/(1<<20)), row.Value("private", "MiB", float64(u.Private)/(1<<20))}
}

// steadyMemory produces and consumes at a moderate rate and reads the memory after a third and at the end.
func steadyMemory(name string, d time.Duration, full bool) row.Row {
	return row.Row{
		Name: name, Peers: both(), MostRounds: 1, Full: full,
		Marks: []figure.Mark{absolute(name, "grown", 8)},
		Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
			if err := t.RemoveOwn(); err != nil {
				return nil, err
			}
			r, err := t.Launcher.Start(ctx, t.Peer, t.Own(), nil)
			if err != nil {
				return nil, err
			}
			values, err := growth(ctx, t, func() (float64, error) {
				u, err := r.Usage()
				return float64(u.Resident) / (1 << 20), err
			}, func(part time.Duration) error {
				topic := fmt.Sprintf("%s-%d", t.Topic(), part)
				if err := r.CreateTopic(ctx, topic, 6, nil); err != nil {
					return err
				}
				_, err := t.Load(ctx, r, load.Job{Kind: load.Latency, Topic: topic, Partitions: 6, RecordBytes: recordBytes, BatchBytes: 64 << 10,
					Acks: "all", Idempotent: true, Rate: 5000, Duration: part})
				return err
			}, d)
			return values, errors.Join(err, r.Stop())
		},
	}
}

// growth runs a load for one third and then two thirds of the time.
func growth(_ context.Context, t row.Turn, memory func() (float64, error), run func(time.Duration) error, d time.Duration) ([]figure.Value, error) {
	d = max(time.Duration(float64(d)*min(t.Scale, 1)), 2*time.Second)
	if err := run(d / 3); err != nil {
		return nil, err
	}
	first, err := memory()
	if err != nil {
		return nil, err
	}
	if err := run(d - d/3); err != nil {
		return nil, err
	}
	last, err := memory()
	return []figure.Value{row.Value("resident", "MiB", last), row.Value("grown", "MiB", last-first)}, err
}
