package inspect

import (
	"fmt"
	"math"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// Decoder says what the keys and values of a log mean.
type Decoder int

// The decoders, named as Kafka's options.
const (
	// DecodeText takes keys and values as KeyAs and ValueAs say (--key-decoder-class, --value-decoder-class), Kafka's default.
	DecodeText Decoder = iota
	// DecodeOffsets is for __consumer_offsets (--offsets-decoder).
	DecodeOffsets
	// DecodeTransactions is for __transaction_state (--transaction-log-decoder).
	DecodeTransactions
	// DecodeMetadata is for __cluster_metadata, log and snapshots (--cluster-metadata-decoder).
	DecodeMetadata
	// DecodeRemoteLog is for __remote_log_metadata (--remote-log-metadata-decoder).
	DecodeRemoteLog
	// DecodeShareState is for __share_group_state (--share-group-state-decoder).
	DecodeShareState
)

// DumpOptions is what Dump is to look at, and how. Start from DefaultDumpOptions.
type DumpOptions struct {
	// FS is the file system; nil stands for the host's.
	FS vfs.FS
	// Files are dumped in this order. What follows the last dot of a name decides how: log, checkpoint, index,
	// timeindex, txnindex, snapshot. Any other name is passed over with a remark.
	Files []string
	// DeepIteration prints a line for every record, not only for every batch.
	DeepIteration bool
	// PrintDataLog prints keys and values too; it implies DeepIteration.
	PrintDataLog bool
	// SkipRecordMetadata prints only keys and values of records.
	SkipRecordMetadata bool
	// MaxBytes is how much of a log is looked at. What lies behind it is not called invalid.
	MaxBytes int64
	// MaxMessageSize is the largest batch that an offset index entry may point at, in bytes.
	MaxMessageSize int
	// VerifyIndexOnly compares indexes with their log and prints no entries.
	VerifyIndexOnly bool
	// IndexSanityCheck does not look at entries: only at an index's length, first and last entry.
	IndexSanityCheck bool
	// Decoder is for keys and values; another than DecodeText implies PrintDataLog.
	Decoder Decoder
	// KeyAs and ValueAs are for DecodeText.
	KeyAs, ValueAs TextDecoder
	// JSON prints one JSON object per line instead of Kafka's text (docs/formats/dump-json.md).
	JSON bool
	// From and To select batches of logs (and records, where they are printed). The walk begins where the indexes say,
	// and ends behind the last batch that can hold something wanted. Both nil: everything.
	From, To *Bound
	// Select picks records; only batches with one that it wants are printed, and only those records. Nil: all.
	Select func(r *record.Record) bool
	// Follow, if set, is asked when the end of the last file, a log, is reached: it waits until there may be more, and
	// returns false to end.
	Follow func() bool
	// Progress hears how many bytes of logs were read since it was called last; nil: nobody does.
	Progress func(bytes int64)
	// MaxRecordBytes bounds one decompressed record, in bytes; ≤ 0 stands for Kafka's default, 2^31-9.
	MaxRecordBytes int
}

// Bound is an offset, or a time in ms since the epoch.
type Bound struct {
	Value  int64
	IsTime bool
}

// NoLimit is the MaxBytes that looks at everything, Kafka's default for --max-bytes.
const NoLimit int64 = math.MaxInt32

// DefaultMaxMessageSize is Kafka's default for --max-message-size: 5 MiB.
const DefaultMaxMessageSize = 5 << 20

// DefaultDumpOptions is what Kafka's tool does without options.
func DefaultDumpOptions() DumpOptions {
	return DumpOptions{MaxBytes: NoLimit, MaxMessageSize: DefaultMaxMessageSize}
}

// complete checks the options and draws what they imply.
func (o DumpOptions) complete() (DumpOptions, error) {
	if o.MaxBytes < 0 {
		return o, fmt.Errorf("inspect: limit of %d bytes", o.MaxBytes)
	}
	if o.MaxMessageSize < 0 {
		return o, fmt.Errorf("inspect: message size of %d bytes", o.MaxMessageSize)
	}
	if o.FS == nil {
		o.FS = vfs.NewOS()
	}
	o.PrintDataLog = o.PrintDataLog || o.Decoder != DecodeText
	o.DeepIteration = o.DeepIteration || o.PrintDataLog || o.Select != nil
	return o, nil
}
