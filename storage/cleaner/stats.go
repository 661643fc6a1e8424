package cleaner

import (
	"fmt"
	"time"

	"github.com/samsalog/samsa/record"
)

// Stats is what one run did.
type Stats struct {
	// From … To-1 are the offsets whose keys were noted; everything before To is clean now.
	From, To record.Offset
	// MapBytesRead was read to note keys, BytesRead and BytesWritten to rewrite segments.
	MapBytesRead, BytesRead, BytesWritten int64
	// Keys is how many there were in the dirty part; MapFull: not all had a place, the next run goes on.
	Keys    int
	MapFull bool
	// RecordsRead and RecordsKept are those of the rewritten segments.
	RecordsRead, RecordsKept int64
	// SegmentsRead became SegmentsWritten.
	SegmentsRead, SegmentsWritten int
	Took                          time.Duration
}

// String is for a log line.
func (s Stats) String() string {
	full := ""
	if s.MapFull {
		full = "; the memory for keys was full, the rest follows"
	}
	return fmt.Sprintf("compacted up to offset %d: %d segments with %d bytes became %d with %d bytes, %d of %d records stayed, %d keys since offset %d, %v%s",
		s.To, s.SegmentsRead, s.BytesRead, s.SegmentsWritten, s.BytesWritten, s.RecordsKept, s.RecordsRead, s.Keys, s.From, s.Took.Round(time.Millisecond), full)
}
