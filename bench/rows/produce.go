package rows

import (
	"context"
	"fmt"
	"strings"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

// how a producer produces.
type producing struct {
	partitions int
	batch      int // bytes
	mode       string
	codec      string
}

func (p producing) name() string {
	return fmt.Sprintf("produce/%dp/%s/%s/%s", p.partitions, kibibytes(p.batch), p.mode, p.codec)
}

func kibibytes(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%dMiB", n>>20)
	}
	return fmt.Sprintf("%dKiB", n>>10)
}

// records is about two seconds of work for Apache Kafka on two cores at scale 1.
func (p producing) records(b *row.Bench) int64 {
	records := map[int]int64{16 << 10: 250_000, 64 << 10: 500_000, 1 << 20: 800_000}[p.batch]
	if p.codec != "none" {
		records /= 2
	}
	return b.Records(records)
}

func (p producing) job(t row.Turn) load.Job {
	acks := "all"
	if p.mode == "acks=1" {
		acks = "1"
	}
	return load.Job{Kind: load.Produce, Partitions: p.partitions, Records: p.records(t.Bench), RecordBytes: recordBytes, BatchBytes: p.batch,
		Acks: acks, Idempotent: p.mode == "idempotent", Codec: p.codec, Text: p.codec != "none"}
}

// ordinary are the ways that always run; the others of the product only when everything is asked for.
func ordinary(p producing) bool {
	if p.codec != "none" {
		return p == producing{1, 64 << 10, "idempotent", p.codec}
	}
	switch p.mode {
	case "idempotent":
		return p.partitions != 12 || p.batch == 64<<10
	default:
		return p.partitions == 1 && p.batch == 16<<10
	}
}

func produceRows() []row.Row {
	var all []row.Row
	for _, partitions := range []int{1, 6, 12} {
		for _, batch := range []int{16 << 10, 64 << 10, 1 << 20} {
			for _, mode := range []string{"idempotent", "acks=all", "acks=1"} {
				for _, codec := range []string{"none", "lz4", "zstd"} {
					all = append(all, produceRow(producing{partitions, batch, mode, codec}))
				}
			}
		}
	}
	return all
}

func produceRow(p producing) row.Row {
	peers := append(both(), peer.Minimum)
	headline := p.mode == "idempotent" && p.codec == "none" && p.batch != 64<<10 && p.partitions != 12
	if headline {
		peers = append(peers, peer.Answers)
	}
	if headline && p.partitions == 1 {
		peers = append(peers, peer.Kfake)
		if p.batch == 16<<10 {
			peers = append(peers, peer.NATS)
		}
	}
	return row.Row{
		Name: p.name(), Peers: peers, Standing: true, Full: !ordinary(p), Marks: produceMarks(p),
		Needs: func(b *row.Bench) int64 { return filed(p.records(b)) },
		Run:   func(ctx context.Context, t row.Turn) ([]figure.Value, error) { return runProduce(ctx, t, p) },
	}
}

func runProduce(ctx context.Context, t row.Turn, p producing) ([]figure.Value, error) {
	topic := t.Topic()
	if err := t.Running.CreateTopic(ctx, topic, p.partitions, nil); err != nil {
		return nil, err
	}
	j := p.job(t)
	j.Topic = topic
	values, result, err := t.Under(ctx, t.Running, j)
	if err != nil {
		return nil, err
	}
	values = append(row.Without(values, row.ReadBytes), row.Value("payload", "MB/s", result.Rate()*recordBytes/1e6))
	return values, t.Running.DeleteTopic(ctx, topic)
}

// produceMarks are those of the issue: multiples of Apache Kafka's rate and processor time, and the share of the
// minimum broker's rate.
func produceMarks(p producing) []figure.Mark {
	if p.mode != "idempotent" || p.codec != "none" {
		return nil
	}
	name := p.name()
	marks := []figure.Mark{}
	switch strings.Join([]string{fmt.Sprint(p.partitions), kibibytes(p.batch)}, "/") {
	case "1/1MiB":
		marks = append(marks, ofKafka(name, row.Rate, 1.7, 0), ofKafka(name, row.BrokerCPU, 0, 0.45), absolute(name, row.PeakMemory, 64))
	case "6/1MiB":
		marks = append(marks, ofKafka(name, row.Rate, 1.35, 0), ofKafka(name, row.BrokerCPU, 0, 0.45))
	case "1/16KiB":
		marks = append(marks, ofKafka(name, row.Rate, 2.6, 0), ofKafka(name, row.BrokerCPU, 0, 0.35), absolute(name, row.PeakMemory, 64))
	case "6/16KiB":
		marks = append(marks, ofKafka(name, row.Rate, 1.8, 0), ofKafka(name, row.BrokerCPU, 0, 0.35))
	}
	return append(marks, ofMinimum(name, row.Rate, 0.92))
}
