package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/segment"
	"github.com/samsalog/samsa/vfs"
)

// indexes makes the offset and time index of a segment anew.
func (j *journal) indexes(dir string, base int64) error {
	list := &logfile.Partition{Dir: dir}
	offsets, times, err := indexContent(j.fs, list.Path(base, segment.LogSuffix), base)
	if err != nil {
		return err
	}
	return errors.Join(j.replace(list.Path(base, segment.OffsetIndexSuffix), "index from the log", offsets),
		j.replace(list.Path(base, segment.TimeIndexSuffix), "time index from the log", times))
}

// txnIndexes makes the transaction indexes of a partition anew, where they differ.
func (j *journal) txnIndexes(dir string) error {
	list, err := logfile.List(j.fs, dir)
	if err != nil {
		return err
	}
	all, err := txnContent(j.fs, list)
	if err != nil {
		return err
	}
	for _, s := range list.Segments {
		path, want := list.Path(s.Base, segment.TxnIndexSuffix), all[s.Base]
		have, err := readFile(j.fs, path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(want) == 0 || err == nil && string(have) == string(want):
			continue
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := j.replace(path, "transaction index from the markers", want); err != nil {
			return err
		}
	}
	return nil
}

func readFile(fsys vfs.FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxJournal {
		return nil, fmt.Errorf("%s: %d bytes", path, size)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if n < len(b) {
		return nil, err
	}
	return b, nil
}

// checkpoints plans the offset checkpoints of a log directory: lines that can be read are kept, offsets behind the end of
// their log are lowered to it.
func (p *planner) checkpoints() error {
	for _, name := range []string{checkpoint.RecoveryPointFile, checkpoint.LogStartFile, checkpoint.HighWatermarkFile, checkpoint.CleanerOffsetsFile} {
		path := filepath.Join(p.o.Dir, name)
		b, err := readFile(p.o.FS, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, broken := checkpoint.ReadOffsets(p.o.FS, path)
		lines, changed := p.goodLines(string(b))
		why := "offsets that lie behind the end of their log are lowered to it"
		if name == checkpoint.RecoveryPointFile && p.raise(&lines) {
			why = "what lies behind the holes has been checked: a broker that was not stopped in order would drop it at its next start"
			changed = true
		}
		if broken == nil && !changed {
			continue
		}
		if broken != nil {
			why = "the lines that can be read are kept: " + broken.Error()
		}
		content := fmt.Sprintf("0\n%d\n%s", len(lines), strings.Join(append(lines, ""), "\n"))
		p.add("replace", path, -1, -1, why, func(j *journal) error {
			return errors.Join(p.flush(), j.replace(path, why, []byte(content)))
		})
	}
	return nil
}

// raise lifts the recovery points of partitions with holes to the ends of their logs, unless a broker was stopped in order and
// trusts all of them anyhow.
func (p *planner) raise(lines *[]string) bool {
	raised := false
	for _, s := range p.states {
		n, err := logdir.ParseName(filepath.Base(s.List.Dir))
		if err != nil || n.Kind != logdir.Current || s.Facts.Raft || !s.Hole || s.Facts.Clean || s.Facts.RecoveryPoint < 0 || s.Facts.RecoveryPoint >= s.LogEnd {
			continue
		}
		entry := fmt.Sprintf("%s %d ", n.TopicPartition.Topic, n.TopicPartition.Partition)
		*lines = slices.DeleteFunc(*lines, func(line string) bool { return strings.HasPrefix(line, entry) })
		*lines = append(*lines, entry+strconv.FormatInt(s.LogEnd, 10))
		p.raised = append(p.raised, s)
		raised = true
	}
	return raised
}

// flush makes the logs durable of which a recovery point says so.
func (p *planner) flush() error {
	for _, s := range p.raised {
		for _, g := range s.Segments {
			f, err := p.o.FS.OpenFile(s.List.Path(g.Base, segment.LogSuffix), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// goodLines picks the entries of a checkpoint that can be used.
func (p *planner) goodLines(text string) (lines []string, changed bool) {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		_, err1 := strconv.ParseInt(fields[1], 10, 32)
		offset, err2 := strconv.ParseInt(fields[2], 10, 64)
		end, known := p.ends[fields[0]+"-"+fields[1]]
		switch {
		case err1 != nil || err2 != nil || offset < 0:
			changed = true
			continue
		case known && offset > end:
			changed = true
			line = fmt.Sprintf("%s %s %d", fields[0], fields[1], end)
		}
		lines = append(lines, line)
	}
	return lines, changed
}
