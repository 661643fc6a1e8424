package repair

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
)

type verifyFinding = verify.Finding

// matters says why a damage should have been found; "" if a broker does the same with the file as before, or if nothing in the
// directory tells of what was there: offsets in text files have no checksum, and a log that ends at an earlier batch, above
// everything that was ever noted of it, is a log.
func matters(m mutation, clean bool, before, after string, log string) string {
	rebuilt := !clean || strings.Contains(m.path, metadataDir) // nobody trusts the indexes of the metadata log
	if rebuilt && strings.HasSuffix(m.path, "index") && (padded(before, after) || len(after)%12 == 0 && strings.HasPrefix(before, after)) {
		return "" // as a killed broker leaves the indexes of an active segment, but for their length; of a sealed one it is found
	}
	switch filepath.Ext(m.path) {
	case ".log":
		if strings.HasPrefix(before, after) && boundary(before, len(after)) {
			return ""
		}
		return "the log has changed"
	case ".index":
		if len(after)%8 == 0 && lookupsWork(after, log, base(m.path)) {
			return ""
		}
		return "lookups fail"
	case ".timeindex":
		if sameBatches(before, after, log, base(m.path)) {
			return ""
		}
		return "the file has changed"
	case ".txnindex", ".snapshot":
		return "the file has changed"
	}
	if filepath.Base(m.path) == "leader-epoch-checkpoint" {
		return epochsDiffer(after, log)
	}
	return ""
}

// padded reports whether zeros have taken the place of the last entries of an index.
func padded(before, after string) bool {
	kept := strings.TrimRight(after, "\x00")
	return len(after) == len(before) && strings.HasPrefix(before, kept) && len(kept) < len(strings.TrimRight(before, "\x00"))
}

func base(path string) int64 {
	n, _ := strconv.ParseInt(strings.Split(filepath.Base(path), ".")[0], 10, 64)
	return n
}

func boundary(log string, at int) bool {
	s := record.NewScanner([]byte(log))
	for s.Next() {
		if s.Position() == at {
			return true
		}
	}
	return at == len(log)
}

// lookupsWork holds every entry against the rule of a lookup: from its position on every offset from its own on is met.
func lookupsWork(index, log string, base int64) bool {
	last, lastPos := int64(-1), int64(-1)
	for b := []byte(index); len(b) >= 8; b = b[8:] {
		offset, pos := base+int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))
		if offset <= last || pos <= lastPos || pos >= int64(len(log)) || !boundary(log, int(pos)) {
			return false
		}
		if record.Batch(log[pos:]).BaseOffset() > record.Offset(offset) {
			return false
		}
		last, lastPos = offset, pos
	}
	return true
}

// epochsDiffer holds a history that can be read against the batches.
func epochsDiffer(file, log string) string {
	type entry struct{ epoch, start int64 }
	var all []entry
	for i, line := range strings.Split(strings.TrimSpace(file), "\n") {
		f := strings.Fields(line)
		if i < 2 || len(f) != 2 {
			continue
		}
		e, _ := strconv.ParseInt(f[0], 10, 64)
		o, _ := strconv.ParseInt(f[1], 10, 64)
		all = append(all, entry{e, o})
	}
	for s := record.NewScanner([]byte(log)); s.Next(); {
		b, epoch := s.Batch(), int64(-1)
		for _, e := range all {
			if e.start <= int64(b.BaseOffset()) {
				epoch = e.epoch
			}
		}
		if epoch >= 0 && epoch != int64(b.LeaderEpoch()) {
			return "epochs differ"
		}
	}
	return ""
}

// sameBatches reports whether all entries of two time indexes name the same timestamps and batches: a lookup scans from the
// begin of the batch anyhow, and older releases name the record itself.
func sameBatches(before, after, log string, base int64) bool {
	if len(before) != len(after) {
		return false
	}
	for i := 0; i+12 <= len(before); i += 12 {
		if before[i:i+8] != after[i:i+8] || batchOf(log, base, before[i+8:i+12]) != batchOf(log, base, after[i+8:i+12]) {
			return false
		}
	}
	return true
}

func batchOf(log string, base int64, relative string) int {
	offset := record.Offset(base + int64(int32(binary.BigEndian.Uint32([]byte(relative)))))
	for s := record.NewScanner([]byte(log)); s.Next(); {
		if s.Batch().BaseOffset() <= offset && offset <= s.Batch().LastOffset() {
			return s.Position()
		}
	}
	return -1
}
