package rows

import (
	"context"
	"fmt"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

const singleRow = "single/acks=all"

// singleRows: one producer that waits for each acknowledgement; beside it a bare request that is answered after an
// append of 1 KiB.
func singleRows() []row.Row {
	return []row.Row{{
		Name: singleRow, Peers: append(both(), peer.Minimum, peer.Answers, peer.Kfake, peer.NATS, peer.Raw), Standing: true,
		Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
			if t.Peer == peer.Raw {
				r, err := t.Load(ctx, t.Running, load.Job{Kind: load.Raw, RecordBytes: recordBytes, Duration: seconds(t.Bench, 2)})
				return append(row.Latencies(r), row.Value(row.Rate, "records/s", r.Rate())), err
			}
			return runSingle(ctx, t, 1, nil)
		},
		Marks: []figure.Mark{
			ofKafka(singleRow, row.P50, 0, 0.5),
			{Row: singleRow, Figure: row.P50, Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Raw)}, AtMost: 2},
		},
	}}
}

// runSingle has so many producers, each with a connection of its own, wait for each record.
func runSingle(ctx context.Context, t row.Turn, clients int, configs map[string]string) ([]figure.Value, error) {
	topic := t.Topic()
	if err := t.Running.CreateTopic(ctx, topic, 1, configs); err != nil {
		return nil, err
	}
	values, result, err := t.Under(ctx, t.Running, load.Job{Kind: load.Single, Topic: topic, Partitions: 1, RecordBytes: recordBytes, BatchBytes: 1 << 20,
		Acks: "all", Idempotent: true, Clients: clients, Duration: seconds(t.Bench, 2)})
	if err != nil {
		return nil, err
	}
	values = append(row.Latencies(result), row.Without(values, row.ReadBytes, row.PeakMemory)...)
	return values, t.Running.DeleteTopic(ctx, topic)
}

// fsyncRows: every record is on disk before it is acknowledged.
func fsyncRows() []row.Row {
	var all []row.Row
	for _, clients := range []int{1, 4, 16, 64} {
		name := fmt.Sprintf("fsync/%d producers", clients)
		var marks []figure.Mark
		switch {
		case clients == 1:
			marks = append(marks, figure.Mark{Row: name, Figure: row.P50, Peer: string(peer.Samsa),
				Of: figure.Of{Peer: string(peer.Machine), Row: limitsRow, Figure: "1 KiB and fsync"}, AtMost: 2})
		case clients >= 16:
			marks = append(marks, ofKafka(name, row.Rate, 20, 0))
		}
		all = append(all, row.Row{
			Name: name, Peers: both(), Standing: true, Marks: marks,
			Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
				return runSingle(ctx, t, clients, map[string]string{"flush.messages": "1"})
			},
		})
	}
	return all
}
