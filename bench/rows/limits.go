package rows

import (
	"context"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/limits"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// limitsRow is where the limits of the machine are.
const limitsRow = "limits"

func limitRows() []row.Row {
	return []row.Row{{
		Name: limitsRow, Peers: []peer.Name{peer.Machine},
		Run: func(_ context.Context, t row.Turn) ([]figure.Value, error) {
			return limits.Measure(t.Dir, int64(t.Scale*float64(1<<30)))
		},
	}}
}
