package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/storage/checkpoint"
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
		if broken == nil && !changed {
			continue
		}
		why := "offsets that lie behind the end of their log are lowered to it"
		if broken != nil {
			why = "the lines that can be read are kept: " + broken.Error()
		}
		content := fmt.Sprintf("0\n%d\n%s", len(lines), strings.Join(append(lines, ""), "\n"))
		p.add("replace", path, -1, -1, why, func(j *journal) error { return j.replace(path, why, []byte(content)) })
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
