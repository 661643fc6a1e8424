package rows

import (
	"context"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// connectionRows: a hundred producers that wait for each record, alone and beside a thousand idle connections.
func connectionRows() []row.Row {
	const alone, beside = "connections/100 busy", "connections/100 busy and 1000 idle"
	var all []row.Row
	for _, name := range []string{alone, beside} {
		idle := 0
		var marks []figure.Mark
		if name == beside {
			idle = 1000
			// No collapse: the idle ones cost at most a fifth.
			marks = []figure.Mark{{Row: beside, Figure: row.Rate, Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Samsa), Row: alone}, AtLeast: 0.8}}
		}
		all = append(all, row.Row{
			Name: name, Peers: append(both(), peer.Minimum), Standing: true, Marks: marks,
			Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) { return runConnections(ctx, t, idle) },
		})
	}
	return all
}

func runConnections(ctx context.Context, t row.Turn, idle int) ([]figure.Value, error) {
	topic := t.Topic()
	const partitions = 12
	if err := t.Running.CreateTopic(ctx, topic, partitions, nil); err != nil {
		return nil, err
	}
	values, result, err := t.Under(ctx, t.Running, load.Job{Kind: load.Single, Topic: topic, Partitions: partitions, RecordBytes: recordBytes, BatchBytes: 1 << 20,
		Acks: "all", Idempotent: true, Clients: 100, Idle: idle, Duration: seconds(t.Bench, 2)})
	if err != nil {
		return nil, err
	}
	values = append(row.Without(values, row.ReadBytes, row.Written), row.Latencies(result)...)
	return values, t.Running.DeleteTopic(ctx, topic)
}
