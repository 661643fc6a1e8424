package rows

import (
	"context"
	"fmt"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/proc"
	"github.com/samsalog/samsa/bench/row"
)

// callRows count system calls in turns of their own: counting costs time.
func callRows() []row.Row {
	return []row.Row{{
		Name: "system calls", Peers: append(both(), peer.Minimum), Standing: true, MostRounds: 1, Run: runCalls,
	}}
}

func runCalls(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	var values []figure.Value
	for _, batch := range []int{16 << 10, 1 << 20} {
		topic := fmt.Sprintf("%s-%d", t.Topic(), batch)
		if err := t.Running.CreateTopic(ctx, topic, 1, nil); err != nil {
			return nil, err
		}
		produce := load.Job{Kind: load.Produce, Topic: topic, Partitions: 1, Records: t.Records(100_000), RecordBytes: recordBytes, BatchBytes: batch, Acks: "all", Idempotent: true}
		consume := load.Job{Kind: load.Consume, Topic: topic, Partitions: 1, Records: produce.Records, Clients: 1}
		for _, j := range []load.Job{produce, consume} {
			calls, err := proc.Calls(ctx, t.Running.PID(), func() error {
				_, err := t.Load(ctx, t.Running, j)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%w: system calls cannot be counted: %w", row.ErrSkip, err)
			}
			values = append(values, row.Value(fmt.Sprintf("%s, %s batches", j.Kind, kibibytes(batch)), "calls/MB", float64(calls)/(float64(j.Records)*recordBytes/1e6)))
		}
		if err := t.Running.DeleteTopic(ctx, topic); err != nil {
			return nil, err
		}
	}
	return values, nil
}
