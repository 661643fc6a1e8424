package rows

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/samsalog/samsa/bench/figure"
	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/row"
)

const compactionRow = "compaction"

// CleanerSettings are given to the brokers of standing rows, so that a log is compacted as soon as it is told so.
func CleanerSettings() map[string]string { return map[string]string{"log.cleaner.backoff.ms": "50"} }

// compactionRows: the same records in segments of 64 MiB, ten for each key, are compacted from the moment on at which
// the topic is told to.
func compactionRows() []row.Row {
	return []row.Row{{
		Name: compactionRow, Peers: both(), Standing: true, MostRounds: 3, Run: runCompaction,
		Marks: []figure.Mark{ofKafka(compactionRow, "compacted", 2, 0)},
	}}
}

func runCompaction(ctx context.Context, t row.Turn) ([]figure.Value, error) {
	topic := t.Topic()
	records := t.Records(400_000)
	segment := max(records*recordBytes/8, 1<<20)
	configs := map[string]string{"segment.bytes": strconv.FormatInt(segment, 10), "min.cleanable.dirty.ratio": "0"}
	if err := t.Running.CreateTopic(ctx, topic, 1, configs); err != nil {
		return nil, err
	}
	if _, err := t.Load(ctx, t.Running, load.Job{Kind: load.Produce, Topic: topic, Partitions: 1, Records: records, RecordBytes: recordBytes, Keys: int(records / 10),
		BatchBytes: 64 << 10, Acks: "all", Idempotent: true}); err != nil {
		return nil, err
	}
	dirty, active, err := closedSegments(filepath.Join(t.Running.Dir, topic+"-0"))
	if err != nil {
		return nil, err
	}
	before, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := t.Running.ConfigureTopic(ctx, topic, "cleanup.policy", "compact"); err != nil {
		return nil, err
	}
	if err := waitCleaned(ctx, t.Running.Dir, topic, active); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	after, err := t.Running.Usage()
	if err != nil {
		return nil, err
	}
	left, _, err := closedSegments(filepath.Join(t.Running.Dir, topic+"-0"))
	if err != nil {
		return nil, err
	}
	return []figure.Value{
		row.Value("compacted", "MB/s", float64(dirty)/1e6/took),
		row.Value(row.BrokerCPU, "ms/MB", (after.CPU-before.CPU).Seconds()*1e3/(float64(dirty)/1e6)),
		row.Value("left", "bytes/byte", float64(left)/float64(dirty)),
	}, t.Running.DeleteTopic(ctx, topic)
}

// closedSegments returns the bytes of all segments but the last, and the base offset of the last.
func closedSegments(dir string) (bytes, active int64, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) == 0 {
		return 0, 0, errors.Join(err, fmt.Errorf("no log in %s", dir))
	}
	for i, name := range names {
		if i == len(names)-1 {
			active, err = strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".log"), 10, 64)
			return bytes, active, err
		}
		info, err := os.Stat(name)
		if err != nil {
			return 0, 0, err
		}
		bytes += info.Size()
	}
	return bytes, active, nil
}

// longestCleaning is how long compaction may take.
const longestCleaning = 3 * time.Minute

// waitCleaned waits until the broker says that the topic is compacted up to offset.
func waitCleaned(ctx context.Context, dir, topic string, offset int64) error {
	ctx, cancel := context.WithTimeout(ctx, longestCleaning)
	defer cancel()
	for {
		b, err := os.ReadFile(filepath.Join(dir, "cleaner-offset-checkpoint"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if cleaned(string(b), topic+" 0") >= offset {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is compacted up to %d of %d: %w", topic, cleaned(string(b), topic+" 0"), offset, ctx.Err())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// cleaned returns the offset of a partition in the text of a checkpoint, -1 if it has none.
func cleaned(text, partition string) int64 {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), partition+" "); ok {
			if n, err := strconv.ParseInt(rest, 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// fileSize returns the size of the segment with a base offset.
func fileSize(dir string, base int64) (int64, error) {
	info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%020d.log", base)))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
