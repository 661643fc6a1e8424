package rows

import (
	"context"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/kept"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/proc"
	"github.com/samsalog/samsa/bench/row"
)

// firstRecord is the figure of all rows about starting: from exec to the first acknowledged record.
const firstRecord = "first record after"

// startTopic is the topic of rows that start on something.
const startTopic = "kept"

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func startRows() []row.Row {
	const empty, clean, killed = "start/empty directory", "start/10 GB clean", "start/after kill -9, nothing to scan"
	return []row.Row{
		{
			Name: empty, Peers: both(), MostRounds: 5, Marks: []figure.Mark{absolute(empty, firstRecord, 40)},
			Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
				if err := t.RemoveOwn(); err != nil {
					return nil, err
				}
				return timedStart(ctx, t, "first", 1, true)
			},
		},
		{
			Name: clean, Peers: both(), MostRounds: 3, Marks: []figure.Mark{absolute(clean, firstRecord, 100)},
			Prepare: func(ctx context.Context, t row.Turn) error { return keep(ctx, t, 10) },
			Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
				return timedStart(ctx, t, startTopic, 1, false)
			},
		},
		{
			Name: killed, Peers: both(), MostRounds: 3, Marks: []figure.Mark{absolute(killed, firstRecord, 100)},
			Prepare: func(ctx context.Context, t row.Turn) error { return startedOnce(ctx, t, 1) },
			Run:     runKilled,
		},
	}
}

// startedOnce makes a directory with one topic, cleanly stopped.
func startedOnce(ctx context.Context, t row.Turn, partitions int) error {
	r, err := t.Launcher.Start(ctx, t.Peer, t.Own(), nil)
	if err != nil {
		return err
	}
	if err := r.CreateTopic(ctx, startTopic, partitions, nil); err != nil {
		r.Kill()
		return err
	}
	return r.Stop()
}

// keep makes a directory whose topic has so many GiB, started and cleanly stopped once more so that the broker has
// written whatever it wants beside them.
func keep(ctx context.Context, t row.Turn, gigabytes int) error {
	if err := startedOnce(ctx, t, 1); err != nil {
		return err
	}
	end, err := kept.Segments(partitionDir(t), gigabytes, time.Now())
	if err != nil {
		return err
	}
	if err := kept.SetRecoveryPoint(t.Own(), startTopic, 0, end); err != nil {
		return err
	}
	r, err := t.Launcher.Start(ctx, t.Peer, t.Own(), nil)
	if err != nil {
		return err
	}
	return r.Stop()
}

// timedStart starts a peer until its first record, and stops it cleanly.
func timedStart(ctx context.Context, t row.Turn, topic string, partitions int, create bool) ([]figure.Value, error) {
	took, _, err := untilFirst(ctx, t, topic, partitions, create, (*peer.Running).Stop)
	return []figure.Value{row.Value(firstRecord, "ms", ms(took))}, err
}

// untilFirst starts a peer until its first record and ends it with end. It also returns what it had used by then.
func untilFirst(ctx context.Context, t row.Turn, topic string, partitions int, create bool, end func(*peer.Running) error) (time.Duration, proc.Usage, error) {
	r, err := t.Launcher.Launch(ctx, t.Peer, t.Own(), nil)
	if err != nil {
		return 0, proc.Usage{}, err
	}
	took, err := r.FirstRecord(ctx, topic, partitions, create)
	if err != nil {
		r.Kill()
		return 0, proc.Usage{}, err
	}
	u, err := r.Usage()
	if err != nil {
		r.Kill()
		return 0, proc.Usage{}, err
	}
	return took, u, end(r)
}

func kill(r *peer.Running) error {
	r.Kill()
	return nil
}

// runKilled kills a broker after a few records and starts it anew. Everything is below the recovery point, as when the
// broker has flushed a minute ago.
func runKilled(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	if _, _, err := untilFirst(ctx, t, startTopic, 1, false, kill); err != nil {
		return nil, err
	}
	// Records so far: one in each earlier round and start, none of them larger than this.
	if err := kept.SetRecoveryPoint(t.Own(), startTopic, 0, int64(2*t.Round+1)); err != nil {
		return nil, err
	}
	return timedStart(ctx, t, startTopic, 1, false)
}

// produceMany fills the topic of a running peer.
func produceMany(ctx context.Context, t row.Turn, r *peer.Running, partitions int, records int64) ([]figure.Value, error) {
	values, _, err := t.Under(ctx, r, load.Job{Kind: load.Produce, Topic: startTopic, Partitions: partitions, Records: records, RecordBytes: recordBytes,
		BatchBytes: 64 << 10, Acks: "all", Idempotent: true})
	return values, err
}
