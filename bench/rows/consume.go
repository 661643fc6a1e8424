package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/limits"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/pagecache"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// consumed is how many records a consumer reads at scale 1.
const consumed = 800_000

// consuming is one way of consuming.
type consuming struct {
	what       string // "warm", "cold"
	partitions int
	clients    int
	undecoded  bool // a client that only looks at the headers of batches
}

func (c consuming) name() string {
	if c.undecoded {
		return fmt.Sprintf("consume/%s/%dp/undecoded", c.what, c.partitions)
	}
	if c.clients > 1 {
		return fmt.Sprintf("consume/%s/%dp/%d clients", c.what, c.partitions, c.clients)
	}
	return fmt.Sprintf("consume/%s/%dp", c.what, c.partitions)
}

func consumeRows() []row.Row {
	var all []row.Row
	for _, c := range []consuming{
		{"warm", 1, 1, false}, {"warm", 6, 1, false}, {"warm", 12, 1, false}, {"warm", 1, 1, true},
		{"cold", 1, 1, false}, {"cold", 1, 1, true}, {"cold", 1, 8, false},
	} {
		peers := append(both(), peer.Minimum)
		if c == (consuming{"warm", 1, 1, false}) {
			peers = append(peers, peer.Kfake, peer.NATS)
		}
		if c.what == "cold" && c.clients == 1 {
			peers = append(peers, peer.Machine)
		}
		var needs func(b *row.Bench) int64
		if c.what == "cold" {
			needs = func(b *row.Bench) int64 { return filed(b.Records(consumed)) }
		}
		all = append(all, row.Row{
			Needs: needs,
			Name:  c.name(), Peers: peers, Standing: true, Marks: consumeMarks(c),
			Prepare: func(ctx context.Context, t row.Turn) error { return c.fill(ctx, t) },
			Run:     func(ctx context.Context, t row.Turn) ([]figure.Value, error) { return c.run(ctx, t) },
			Finish: func(ctx context.Context, t row.Turn) error {
				if t.Running == nil {
					return nil
				}
				return t.Running.DeleteTopic(ctx, t.Base())
			},
		})
	}
	return all
}

// records is how many each client reads: eight clients share out the time of one.
func (c consuming) records(t row.Turn) int64 { return t.Records(int64(consumed / c.clients)) }

// fill produces what is consumed in all rounds, in batches of 64 KiB.
func (c consuming) fill(ctx context.Context, t row.Turn) error {
	if t.Running == nil {
		return nil
	}
	if err := t.Running.CreateTopic(ctx, t.Base(), c.partitions, nil); err != nil {
		return err
	}
	_, err := t.Load(ctx, t.Running, load.Job{Kind: load.Produce, Topic: t.Base(), Partitions: c.partitions, Records: c.records(t),
		RecordBytes: recordBytes, BatchBytes: 64 << 10, Acks: "all", Idempotent: true})
	return err
}

func (c consuming) run(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	if t.Peer == peer.Machine {
		return readFiles(t)
	}
	if c.what == "cold" {
		// Only the files of this topic: whatever else the broker has in memory stays there.
		if err := pagecache.Evict(logs(t)...); errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("%w: this system does not let go of files", row.ErrSkip)
		} else if err != nil {
			return nil, err
		}
	} else if err := pagecache.Fill(logs(t)...); err != nil {
		return nil, err
	}
	kind := load.Consume
	if c.undecoded {
		kind = load.Drain
	}
	values, result, err := t.Under(ctx, t.Running, load.Job{Kind: kind, Topic: t.Base(), Partitions: c.partitions, Records: c.records(t), Clients: c.clients})
	if err != nil {
		return nil, err
	}
	values = append(values, row.Value("payload", "MB/s", result.Rate()*recordBytes/1e6))
	if c.what == "warm" {
		return row.Without(values, row.Written, row.ReadBytes), nil
	}
	// Bytes from disk are told for one copy of the data, however many read it.
	for i := range values {
		if values[i].Name == row.ReadBytes {
			values[i].Value *= float64(c.clients)
		}
	}
	return row.Without(values, row.Written), nil
}

// logs returns the files of the topic: in the directories of its partitions, for the minimum broker anywhere.
func logs(t row.Turn) []string {
	found, err := filepath.Glob(filepath.Join(t.Running.Dir, t.Base()+"-*", "*.log"))
	if err == nil && len(found) > 0 {
		return found
	}
	return []string{t.Running.Dir}
}

// readFiles reads as many cold bytes as a cold consumer gets.
func readFiles(t row.Turn) ([]figure.Value, error) {
	name := filepath.Join(t.Dir, "read")
	defer os.Remove(name)
	if err := os.WriteFile(name, make([]byte, t.Records(consumed)*recordBytes), 0o600); err != nil {
		return nil, err
	}
	if err := pagecache.Evict(name); errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("%w: this system does not let go of files", row.ErrSkip)
	} else if err != nil {
		return nil, err
	}
	rate, err := limits.Read(name)
	return []figure.Value{row.Value("payload", "MB/s", rate)}, err
}

func consumeMarks(c consuming) []figure.Mark {
	name := c.name()
	switch {
	case c.what == "cold" && c.clients == 1:
		return []figure.Mark{{Row: name, Figure: "payload", Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Machine)}, AtLeast: 0.9}}
	case c.what == "cold":
		return []figure.Mark{absolute(name, row.ReadBytes, 1.1)}
	case c.undecoded:
		return []figure.Mark{ofKafka(name, row.BrokerCPU, 0, 1), ofMinimum(name, row.Rate, 0.95)}
	}
	atLeast := 1.0
	if c.partitions == 1 {
		atLeast = 1.25
	}
	return []figure.Mark{ofKafka(name, row.Rate, atLeast, 0), ofKafka(name, row.BrokerCPU, 0, 1), ofMinimum(name, row.Rate, 0.95)}
}
