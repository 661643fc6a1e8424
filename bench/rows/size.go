package rows

import (
	"context"
	"errors"
	"fmt"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// sizeName names the row with so many GiB kept.
func sizeName(gigabytes int) string { return fmt.Sprintf("size/%d GB kept", gigabytes) }

// sizeRows: what it costs to append and to read the tail when much is kept.
func sizeRows() []row.Row {
	var all []row.Row
	for _, gigabytes := range []int{1, 10, 100} {
		var marks []figure.Mark
		if gigabytes > 1 {
			for _, f := range []string{"append, broker CPU", "tail read, broker CPU"} {
				marks = append(marks, figure.Mark{Row: sizeName(gigabytes), Figure: f, Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Samsa), Row: sizeName(1)}, AtMost: 1.05})
			}
		}
		all = append(all, row.Row{
			Name: sizeName(gigabytes), Peers: both(), MostRounds: 3, Marks: marks,
			Prepare: func(ctx context.Context, t row.Turn) error { return keep(ctx, t, gigabytes) },
			Run:     runSize,
			Finish:  func(_ context.Context, t row.Turn) error { return t.RemoveOwn() },
		})
	}
	return all
}

// runSize appends, and then reads the tail while it is appended: what an up-to-date consumer does.
func runSize(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	r, err := t.Launcher.Start(ctx, t.Peer, t.Own(), nil)
	if err != nil {
		return nil, err
	}
	// Once without counting: a JVM that has just started has nothing compiled.
	if _, err := produceMany(ctx, t, r, 1, t.Records(100_000)); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	appended, err := produceMany(ctx, t, r, 1, t.Records(200_000))
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	tail, result, err := t.Under(ctx, r, load.Job{Kind: load.Tail, Topic: startTopic, Partitions: 1, RecordBytes: recordBytes, BatchBytes: 64 << 10,
		Acks: "all", Idempotent: true, Rate: 5000, Duration: seconds(t.Bench, 2)})
	if err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	var values []figure.Value
	for _, v := range appended {
		if v.Name == row.Rate || v.Name == row.BrokerCPU {
			values = append(values, row.Value("append, "+v.Name, v.Unit, v.Value))
		}
	}
	for _, v := range append(row.Latencies(result), tail...) {
		if v.Name == row.P50 || v.Name == row.BrokerCPU {
			values = append(values, row.Value("tail read, "+v.Name, v.Unit, v.Value))
		}
	}
	return values, r.Stop()
}
