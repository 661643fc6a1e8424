package rows

import (
	"context"
	"path/filepath"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/kept"
	"github.com/samsalog/samsa/bench/pagecache"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

const recoveryRow = "recovery"

func partitionDir(t row.Turn) string { return filepath.Join(t.Own(), startTopic+"-0") }

// recoveryRows: a broker is killed and starts with everything above the recovery point, and once more with nothing
// above it; the difference is recovery.
func recoveryRows() []row.Row {
	return []row.Row{{
		Name: recoveryRow, Peers: both(), MostRounds: 2,
		Prepare: prepareRecovery, Run: runRecovery,
		Finish: func(_ context.Context, t row.Turn) error { return t.RemoveOwn() },
		Marks: []figure.Mark{{Row: recoveryRow, Figure: "recovered", Peer: string(peer.Samsa),
			Of: figure.Of{Peer: string(peer.Machine), Row: limitsRow, Figure: "read, warm"}, AtLeast: 0.5}},
	}}
}

// recovered is how many records are above the recovery point at scale 1: 4 GB.
const recovered = 4_000_000

func prepareRecovery(ctx context.Context, t row.Turn) error {
	r, err := t.Launcher.Start(ctx, t.Peer, t.Own(), nil)
	if err != nil {
		return err
	}
	defer r.Kill()
	if err := r.CreateTopic(ctx, startTopic, 1, nil); err != nil {
		return err
	}
	_, err = produceMany(ctx, t, r, 1, t.Records(recovered))
	return err
}

func runRecovery(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	bytes, active, err := closedSegments(partitionDir(t))
	if err != nil {
		return nil, err
	}
	last, err := fileSize(partitionDir(t), active)
	if err != nil {
		return nil, err
	}
	bytes += last
	if err := kept.SetRecoveryPoint(t.Own(), startTopic, 0, 0); err != nil {
		return nil, err
	}
	if err := pagecache.Fill(partitionDir(t)); err != nil {
		return nil, err
	}
	all, _, err := untilFirst(ctx, t, startTopic, 1, false, kill)
	if err != nil {
		return nil, err
	}
	// There are at least so many records: what was produced at first.
	if err := kept.SetRecoveryPoint(t.Own(), startTopic, 0, t.Records(recovered)); err != nil {
		return nil, err
	}
	nothing, _, err := untilFirst(ctx, t, startTopic, 1, false, kill)
	if err != nil {
		return nil, err
	}
	values := []figure.Value{row.Value(firstRecord, "ms", ms(all)), row.Value(firstRecord+", nothing to scan", "ms", ms(nothing))}
	// At a small scale the difference may be less than what starts differ by; there is no rate then.
	if all > nothing {
		values = append(values, row.Value("recovered", "MB/s", float64(bytes)/1e6/(all-nothing).Seconds()))
	}
	return values, nil
}
