package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/producer"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

func (c *checker) readSnapshot(s logfile.Snapshot) ([]producer.Entry, error) {
	path := filepath.Join(c.list.Dir, s.Name)
	entries, err := producer.ReadSnapshot(c.fs, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.badSnapshot(s, Warning, err.Error(), "A broker takes an older one and reads the log from there; a repeated batch may not be recognised")
	}
	return entries, err
}

func (c *checker) badSnapshot(s logfile.Snapshot, sev Severity, what, means string) {
	if n := len(c.state.BadSnapshots); n > 0 && c.state.BadSnapshots[n-1] == s.Name {
		return
	}
	c.state.BadSnapshots = append(c.state.BadSnapshots, s.Name)
	rule := SnapshotState
	if strings.Contains(what, "corrupt") || strings.Contains(what, "snapshot") {
		rule = SnapshotFormat
	}
	c.out(about(rule, sev, filepath.Join(c.list.Dir, s.Name), what, means))
}

// snapshotsUpTo compares the snapshots of offsets up to the one that comes next in the log.
func (c *checker) snapshotsUpTo(next int64, end bool) {
	for len(c.snapshots) > 0 && (c.snapshots[0].Offset < next || c.snapshots[0].Offset == next) {
		s := c.snapshots[0]
		c.snapshots = c.snapshots[1:]
		if s.Offset < c.next && !end {
			// It stands inside of a batch, or of damage: a snapshot that no broker wrote here.
			if len(c.held) == 0 && len(c.state.Segments) >= 0 && c.exact {
				c.badSnapshot(s, Warning, fmt.Sprintf("no batch ends before offset %d", s.Offset), meansSnapshot)
			}
			continue
		}
		entries, err := c.readSnapshot(s)
		if err != nil || c.held != nil {
			continue
		}
		if why := c.differs(s.Offset, entries); why != "" {
			c.badSnapshot(s, Error, why, meansSnapshot)
		}
	}
}

const meansSnapshot = "A broker that starts from it may take a repeated batch twice, refuse a producer, or misjudge an open transaction"

// differs compares a snapshot with what the batches before its offset tell.
func (c *checker) differs(offset int64, entries []producer.Entry) string {
	log := map[record.ProducerID]producer.Entry{}
	for _, e := range c.replay.Entries() {
		log[e.ProducerID] = e
	}
	for _, e := range entries {
		known, ok := log[e.ProducerID]
		delete(log, e.ProducerID)
		switch {
		case int64(e.LastOffset) >= offset || int64(e.CurrentTxnFirstOffset) >= offset || e.ProducerID < 0:
			return fmt.Sprintf("producer %d at offset %d, in a snapshot of offset %d", e.ProducerID, max(e.LastOffset, e.CurrentTxnFirstOffset), offset)
		case !ok && c.exact:
			return fmt.Sprintf("producer %d, of which the log knows nothing", e.ProducerID)
		case !ok:
			continue
		}
		if why := c.producerDiffers(e, known); why != "" {
			return fmt.Sprintf("producer %d: %s", e.ProducerID, why)
		}
	}
	for id, e := range log {
		if e.CurrentTxnFirstOffset >= 0 {
			return fmt.Sprintf("the transaction of producer %d, open since offset %d, is missing", id, e.CurrentTxnFirstOffset)
		}
	}
	return ""
}

func (c *checker) producerDiffers(e, log producer.Entry) string {
	switch {
	case log.LastOffset > e.LastOffset && e.LastOffset >= 0:
		return fmt.Sprintf("last offset %d, the log has %d", e.LastOffset, log.LastOffset)
	case e.LastOffset >= 0 && e.LastOffset == log.LastOffset && (e.LastSequence != log.LastSequence || e.OffsetDelta != log.OffsetDelta):
		return fmt.Sprintf("last sequence %d, the log has %d", e.LastSequence, log.LastSequence)
	case c.exact && (e.ProducerEpoch != log.ProducerEpoch || e.LastOffset != log.LastOffset):
		return fmt.Sprintf("epoch %d and last offset %d, the log has %d and %d", e.ProducerEpoch, e.LastOffset, log.ProducerEpoch, log.LastOffset)
	case log.CurrentTxnFirstOffset >= 0 && (e.CurrentTxnFirstOffset < 0 || e.CurrentTxnFirstOffset > log.CurrentTxnFirstOffset),
		c.exact && e.CurrentTxnFirstOffset != log.CurrentTxnFirstOffset:
		return fmt.Sprintf("open transaction at offset %d, the log says %d (-1: none)", e.CurrentTxnFirstOffset, log.CurrentTxnFirstOffset)
	}
	return ""
}

// topicID looks at partition.metadata.
func (c *checker) topicID() {
	path := filepath.Join(c.list.Dir, segment.PartitionMetadataFile)
	_, err := checkpoint.ReadPartitionMetadata(c.fs, path)
	if err == nil || c.facts.Deleting || c.bare() || c.facts.Raft && len(c.list.Segments) == 0 {
		return // a directory just formatted has a snapshot only
	}
	c.state.BadMetadata = true
	c.out(about(PartitionMeta, Error, path, err.Error(), "A broker does not know which topic this is, and sets the directory aside as a stray"))
}

// bare is a directory that holds segments and nothing else: some `.log` files to look at, not a broker's partition.
func (c *checker) bare() bool {
	return !c.list.Metadata && !c.list.LeaderEpochs && !c.facts.Raft && c.facts.RecoveryPoint < 0
}

func (c *checker) readEpochs() {
	path := filepath.Join(c.list.Dir, segment.LeaderEpochFile)
	rows, err := checkpoint.ReadFrame(c.fs, path, 2)
	if err == nil {
		c.epochs, err = parseEpochs(rows)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return // see epochHistory
	}
	c.state.BadEpochs = true
	c.out(about(EpochFile, Error, path, err.Error(), "A broker cannot open the partition"))
}

func parseEpochs(rows [][]string) ([]epoch.Entry, error) {
	var all []epoch.Entry
	for _, row := range rows {
		e, err1 := strconv.ParseInt(row[0], 10, 32)
		o, err2 := strconv.ParseInt(row[1], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if n := len(all); e < 0 || o < 0 || n > 0 && (e <= int64(all[n-1].Epoch) || o < int64(all[n-1].StartOffset)) {
			return nil, fmt.Errorf("epoch %d from offset %d on does not follow the entry before", e, o)
		}
		all = append(all, epoch.Entry{Epoch: record.LeaderEpoch(e), StartOffset: record.Offset(o)})
	}
	return all, nil
}

// epochHistory looks at a history whose file is empty although batches tell of epochs.
func (c *checker) epochHistory() {
	trusted := c.facts.Clean || c.facts.RecoveryPoint < 0
	if len(c.epochs) > 0 || c.state.BadEpochs || len(c.state.Epochs) == 0 || c.facts.Deleting || !trusted || c.facts.Raft || c.bare() {
		return // without epochs in the batches, as in old formats, there may be no file
	}
	c.state.BadEpochs = true
	c.out(about(EpochHistory, Error, filepath.Join(c.list.Dir, segment.LeaderEpochFile), "the history is empty or missing, the batches tell of leader epochs",
		"Replicas that compare their logs by epochs may truncate more than they have to"))
}

// quorumState looks at the file in which a voter remembers its vote.
func (c *checker) quorumState() {
	path := filepath.Join(c.list.Dir, logfile.QuorumStateFile)
	b, err := readAll(c.fs, path, maxSmallFile)
	var v struct {
		Version *int16 `json:"data_version"`
		Epoch   *int32 `json:"leaderEpoch"`
	}
	if err == nil {
		line, _, _ := strings.Cut(string(b), "\n")
		err = json.Unmarshal([]byte(line), &v)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && (v.Version == nil || v.Epoch == nil || *v.Version < 0 || *v.Version > 1):
		err = errors.New("data_version or leaderEpoch is missing or unknown")
	}
	if err != nil {
		c.state.BadQuorum = true
		c.out(about(QuorumState, Error, path, err.Error(), "The node cannot start: it no longer knows whom it voted for"))
	}
}

// maxSmallFile bounds files that are read as a whole.
const maxSmallFile = 64 << 20

func readAll(fsys vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := logfile.Open(fsys, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.SizeInBytes > limit {
		return nil, fmt.Errorf("%d bytes, at most %d are expected", f.SizeInBytes, limit)
	}
	b := make([]byte, f.SizeInBytes)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return b, nil
}

// metadataSnapshot looks at a snapshot of the metadata log: whole batches, a header first and a footer last.
func (c *checker) metadataSnapshot(name string) {
	path := filepath.Join(c.list.Dir, name)
	f, err := logfile.Open(c.fs, path)
	if err != nil {
		return // removed meanwhile
	}
	defer f.Close()
	r := logfile.NewReader(f, 0, f.SizeInBytes)
	defer r.Close()
	bad := func(pos int64, what string) {
		c.state.BadCheckpoints = append(c.state.BadCheckpoints, name)
		c.out(at(MetaSnapshot, Error, path, pos, f.SizeInBytes-pos, what, "A node that starts from it does not know the cluster; an older snapshot with the log behind it may"))
	}
	n, footer := 0, false
	next := int64(0)
	for r.Next() {
		h := r.Header()
		if !r.Valid() || h.Magic != 2 || int64(h.BaseOffset) != next {
			bad(r.Start(), fmt.Sprintf("the checksum or offset of the batch at offset %d is wrong", h.BaseOffset))
			return
		}
		next = int64(h.LastOffset()) + 1
		if n == 0 && !h.IsControl() {
			bad(0, "the first batch is no header")
			return
		}
		n, footer = n+1, h.IsControl() && n > 0 || h.IsControl() && h.Count > 1
	}
	if r.Position() < f.SizeInBytes || !footer {
		bad(r.Position(), "the file ends without its footer")
	}
}
