package segment

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/record"
)

// Names in a partition directory. A segment file is its base offset in 20 digits and a suffix that says what it holds;
// a second suffix says that an operation is under way.
const (
	LogSuffix         = ".log"
	OffsetIndexSuffix = ".index"
	TimeIndexSuffix   = ".timeindex"
	TxnIndexSuffix    = ".txnindex"

	// DeletedSuffix: to be unlinked after a delay.
	DeletedSuffix = ".deleted"
	// CleanedSuffix: output of compaction that is still being written.
	CleanedSuffix = ".cleaned"
	// SwapSuffix: finished output that is being swapped in.
	SwapSuffix = ".swap"
	// TmpSuffix: the new content of a file that is written before it is renamed.
	TmpSuffix = ".tmp"

	// LeaderEpochFile holds the leader epoch history, PartitionMetadataFile the topic id.
	LeaderEpochFile       = "leader-epoch-checkpoint"
	PartitionMetadataFile = "partition.metadata"
)

// FileName is the name of a segment's file.
func FileName(base record.Offset, suffix string) string { return fmt.Sprintf("%020d%s", base, suffix) }

// Name is a parsed file name.
type Name struct {
	// Base is the number in front of the first dot.
	Base record.Offset
	// Suffix is one of the four suffixes of segment files.
	Suffix string
	// State is "" or one of DeletedSuffix, CleanedSuffix, SwapSuffix, TmpSuffix.
	State string
}

// ParseName tells the files of segments from others. Padding is not required, as Kafka does not.
func ParseName(name string) (Name, bool) {
	digits, rest, ok := strings.Cut(name, ".")
	if !ok {
		return Name{}, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return Name{}, false
	}
	out := Name{Base: record.Offset(n)}
	rest = "." + rest
	for _, state := range []string{DeletedSuffix, CleanedSuffix, SwapSuffix, TmpSuffix} {
		if cut, ok := strings.CutSuffix(rest, state); ok {
			rest, out.State = cut, state
			break
		}
	}
	switch rest {
	case LogSuffix, OffsetIndexSuffix, TimeIndexSuffix, TxnIndexSuffix:
		out.Suffix = rest
		return out, true
	}
	return Name{}, false
}
