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

// encodedClient ends the names of rows whose clients cost next to nothing, so that it is the broker that is measured.
const encodedClient = "/encoded once"

// singleRows: one producer that waits for each acknowledgement; beside it a bare request that is answered after an
// append of 1 KiB.
func singleRows() []row.Row {
	var all []row.Row
	for _, name := range []string{singleRow, singleRow + encodedClient} {
		kind, peers := load.Single, append(both(), peer.Minimum, peer.Answers, peer.Kfake, peer.NATS, peer.Raw)
		if name != singleRow {
			kind, peers = load.Encoded, append(both(), peer.Minimum, peer.Raw)
		}
		all = append(all, row.Row{
			Name: name, Peers: peers, Standing: true,
			Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
				if t.Peer == peer.Raw {
					r, err := t.Load(ctx, t.Running, load.Job{Kind: load.Raw, RecordBytes: recordBytes, Duration: seconds(t.Bench, 2)})
					return append(row.Latencies(r), row.Value(row.Rate, "records/s", r.Rate())), err
				}
				return runSingle(ctx, t, kind, 1, nil)
			},
			Marks: []figure.Mark{
				ofKafka(name, row.P50, 0, 0.5),
				{Row: name, Figure: row.P50, Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Raw)}, AtMost: 2},
			},
		})
	}
	return all
}

// runSingle has so many producers, each with a connection of its own, wait for each record.
func runSingle(ctx context.Context, t row.Turn, kind load.Kind, clients int, configs map[string]string) ([]figure.Value, error) {
	topic := t.Topic()
	if err := t.Running.CreateTopic(ctx, topic, 1, configs); err != nil {
		return nil, err
	}
	values, result, err := t.Under(ctx, t.Running, load.Job{Kind: kind, Topic: topic, Partitions: 1, RecordBytes: recordBytes, BatchBytes: 1 << 20,
		Acks: "all", Idempotent: kind == load.Single, Clients: clients, Duration: seconds(t.Bench, 2)})
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
		plain := fmt.Sprintf("fsync/%d producers", clients)
		names := []string{plain}
		if clients >= 16 { // where many clients share two processors with the broker
			names = append(names, plain+encodedClient)
		}
		for _, name := range names {
			kind := load.Single
			if name != plain {
				kind = load.Encoded
			}
			all = append(all, row.Row{
				Name: name, Peers: both(), Standing: true, Marks: fsyncMarks(name, clients),
				Run: func(ctx context.Context, t row.Turn) ([]figure.Value, error) {
					return runSingle(ctx, t, kind, clients, map[string]string{"flush.messages": "1"})
				},
			})
		}
	}
	return all
}

func fsyncMarks(name string, clients int) []figure.Mark {
	switch {
	case clients == 1:
		return []figure.Mark{{Row: name, Figure: row.P50, Peer: string(peer.Samsa),
			Of: figure.Of{Peer: string(peer.Machine), Row: limitsRow, Figure: "1 KiB and fsync"}, AtMost: 2}}
	case clients >= 16:
		return []figure.Mark{ofKafka(name, row.Rate, 20, 0)}
	default:
		return nil
	}
}
