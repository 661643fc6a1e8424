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

// dumpRows: both tools over a segment that Samsa wrote, in batches of 16 KiB; the machine has cat read the file and no more,
// a program like the other two.
func dumpRows() []row.Row {
	return []row.Row{{
		Name: dumpRow, Peers: append(both(), peer.Machine), MostRounds: 5, Prepare: prepareDump, Run: runDump,
		Needs: func(*row.Bench) int64 { return dumpToolMemory },
		Marks: []figure.Mark{ofKafka(dumpRow, "shallow", 15, 0), ofKafka(dumpRow, "deep", 8, 0),
			{Row: dumpRow, Figure: "shallow", Peer: string(peer.Samsa), Of: figure.Of{Peer: string(peer.Machine), Figure: "cat"}, AtLeast: 0.5}},
	}}
}

func prepareDump(ctx context.Context, t row.Turn) error {
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
		BatchBytes: 16 << 10, Acks: "all", Idempotent: true})
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

func runDump(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	file := dumpedFile(t)
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	ways := []dumpWay{{"shallow", nil}, {"deep", []string{"--deep-iteration"}}}
	tool := []string{t.Launcher.Binaries[t.Peer], "dump", "--files", file}
	switch t.Peer {
	case peer.Machine:
		tool, ways = []string{"cat", file}, []dumpWay{{"cat", nil}}
	case peer.Kafka:
		tool = t.Launcher.Tool("256M", "org.apache.kafka.tools.DumpLogSegments", "--files", file)
	}
	var values []figure.Value
	for _, how := range ways {
		if err := pagecache.Fill(file); err != nil {
			return nil, err
		}
		took, err := timed(ctx, append(tool[:len(tool):len(tool)], how.more...))
		if err != nil {
			return nil, err
		}
		values = append(values, row.Value(how.name, "MB/s", float64(info.Size())/1e6/took.Seconds()))
	}
	return values, nil
}

// dumpWay is a figure and the flags that it takes.
type dumpWay struct {
	name string
	more []string
}

// timed runs a program whose output nobody wants.
func timed(ctx context.Context, args []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, strings.TrimSpace(complaints.String()))
	}
	return time.Since(began), nil
}
