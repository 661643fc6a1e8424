package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/level"
	"github.com/samsalog/samsa/bench/limits"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/pagecache"
	"github.com/samsalog/samsa/bench/peer"
	"github.com/samsalog/samsa/bench/row"
)

const dumpRow = "dump"

// dumped is how many records are dumped at scale 1: a segment of 1 GB.
const dumped = 1_000_000

// dumpToolMemory is more than the JVM of Apache Kafka's tool takes.
const dumpToolMemory = 512 << 20

// dumping is a segment that is dumped.
type dumping struct {
	name, codec string
	ways        map[peer.Name][]dumpWay
	marks       []figure.Mark
}

// dumpWay is a figure and the flags that it takes.
type dumpWay struct {
	name string
	more []string
}

// dumpRows: both tools over a segment that Samsa wrote, in batches of 16 KiB. The machine has cat read the file and no more, a
// program like the other two; what is compressed it has a decoder unpack on one processor, and no more.
func dumpRows() []row.Row {
	deep := dumpWay{"deep", []string{"--deep-iteration"}}
	const zstdRow = dumpRow + "/zstd"
	var all []row.Row
	for _, d := range []dumping{
		{dumpRow, "none", map[peer.Name][]dumpWay{peer.Samsa: {{"shallow", nil}, deep}, peer.Kafka: {{"shallow", nil}, deep}, peer.Machine: {{"cat", nil}}},
			[]figure.Mark{ofKafka(dumpRow, "shallow", 15, 0), ofKafka(dumpRow, "deep", 8, 0),
				{Row: dumpRow, Figure: "shallow", Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Machine), Figure: "cat"}, AtLeast: 0.5}}},
		{zstdRow, "zstd", map[peer.Name][]dumpWay{peer.Samsa: {deep}, peer.Kafka: {deep}, peer.Machine: {{"decoder", nil}}},
			[]figure.Mark{{Row: zstdRow, Figure: "deep", Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Machine), Figure: "decoder"}, AtLeast: 0.8}}},
	} {
		all = append(all, row.Row{
			Name: d.name, Peers: append(both(), peer.Machine), MostRounds: 5, Prepare: d.prepare, Run: d.run, Marks: d.marks,
			Needs: func(*row.Bench) int64 { return dumpToolMemory },
		})
	}
	return all
}

func (d dumping) prepare(ctx context.Context, t row.Turn) error {
	if err := level.Ground(filed(t.Records(dumped))); err != nil {
		return err
	}
	r, err := t.Launcher.Start(ctx, peer.Samsa, t.Own(), nil)
	if err != nil {
		return err
	}
	if err := r.CreateTopic(ctx, startTopic, 1, nil); err != nil {
		return errors.Join(err, r.Stop())
	}
	_, err = t.Load(ctx, r, load.Job{Kind: load.Produce, Topic: startTopic, Partitions: 1, Records: t.Records(dumped), RecordBytes: recordBytes,
		BatchBytes: 16 << 10, Acks: "all", Idempotent: true, Codec: d.codec, Text: d.codec != "none"})
	// The system would write it back while it is read, which takes memory bandwidth from whoever reads then.
	return errors.Join(err, r.Stop(), syncFile(dumpedFile(t)))
}

// dumpedFile is the segment that is dumped.
func dumpedFile(t row.Turn) string {
	return filepath.Join(partitionDir(t), fmt.Sprintf("%020d.log", 0))
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d dumping) run(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	file := dumpedFile(t)
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	var values []figure.Value
	for _, how := range d.ways[t.Peer] {
		if err := pagecache.Fill(file); err != nil {
			return nil, err
		}
		took, err := d.timed(ctx, t, file, how)
		if err != nil {
			return nil, err
		}
		values = append(values, row.Value(how.name, "MB/s", float64(info.Size())/1e6/took.Seconds()))
	}
	return values, nil
}

// timed runs a program whose output nobody wants, or the decoder.
func (d dumping) timed(ctx context.Context, t row.Turn, file string, how dumpWay) (time.Duration, error) {
	var args []string
	switch {
	case how.name == "decoder":
		return limits.Zstd(file)
	case t.Peer == peer.Machine:
		args = []string{"cat", file}
	case t.Peer == peer.Kafka:
		args = t.Launcher.Tool("256M", "org.apache.kafka.tools.DumpLogSegments", "--files", file)
	default:
		args = []string{t.Launcher.Binaries[t.Peer], "dump", "--files", file}
	}
	args = append(args[:len(args):len(args)], how.more...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, strings.TrimSpace(complaints.String()))
	}
	return time.Since(began), nil
}
