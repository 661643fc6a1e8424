package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// manyRows: a thousand and ten thousand partitions: starting, memory, and producing to all of them.
func manyRows() []row.Row {
	var all []row.Row
	for _, partitions := range []int{1_000, 10_000} {
		name := fmt.Sprintf("partitions/%d", partitions)
		var marks []figure.Mark
		rounds := 3
		if partitions == 10_000 {
			rounds = 1
			marks = []figure.Mark{absolute(name, firstRecord, 2000), absolute(name, "resident", 250)}
		}
		all = append(all, row.Row{
			Name: name, Peers: both(), MostRounds: rounds, Marks: marks,
			Prepare: func(ctx context.Context, t row.Turn) error { return startedOnce(ctx, t, partitions) },
			Run:     func(ctx context.Context, t row.Turn) ([]figure.Value, error) { return runMany(ctx, t, partitions) },
		})
	}
	return all
}

func runMany(ctx context.Context, t row.Turn, partitions int) ([]figure.Value, error) {
	var values []figure.Value
	took, used, err := untilFirst(ctx, t, startTopic, partitions, false, func(r *peer.Running) error {
		var err error
		values, err = produceMany(ctx, t, r, partitions, t.Records(200_000))
		return errors.Join(err, r.Stop())
	})
	values = slices.Concat([]figure.Value{row.Value(firstRecord, "ms", ms(took))}, memory(used), row.Without(values, row.ReadBytes))
	return values, err
}
