package verify

import "fmt"

// Severity says how bad a finding is.
type Severity int8

// The severities.
const (
	// Note: worth knowing, and normal. Not reported unless asked for.
	Note Severity = iota
	// Warning: the next start of a broker mends it, or only speed suffers.
	Warning
	// Error: records are lost, or a broker would give wrong answers, or not start.
	Error
)

// String is note, warning or error.
func (s Severity) String() string { return [...]string{"note", "warning", "error"}[s] }

// MarshalText makes it the same in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is the name of a rule; docs/inspect.md lists them.
type Rule string

// The rules.
const (
	BatchChecksum   Rule = "batch-checksum"
	BatchStructure  Rule = "batch-structure"
	BatchOrder      Rule = "batch-order"
	BatchEpoch      Rule = "batch-epoch"
	OffsetGap       Rule = "offset-gap"
	LogTail         Rule = "log-tail"
	IndexMissing    Rule = "index-missing"
	IndexLength     Rule = "index-length"
	IndexPadding    Rule = "index-padding"
	IndexEntry      Rule = "index-entry"
	TimeEntryRule   Rule = "time-entry"
	TimeLargest     Rule = "time-largest"
	TxnEntry        Rule = "txn-entry"
	TxnMissing      Rule = "txn-missing"
	SnapshotFormat  Rule = "snapshot-format"
	SnapshotState   Rule = "snapshot-state"
	EpochFile       Rule = "epoch-file"
	EpochHistory    Rule = "epoch-history"
	PartitionMeta   Rule = "partition-metadata"
	MetaSnapshot    Rule = "metadata-snapshot"
	QuorumState     Rule = "quorum-state"
	CheckpointFile  Rule = "checkpoint-format"
	CheckpointRange Rule = "checkpoint-range"
	MetaProperties  Rule = "meta-properties"
	DirectoryName   Rule = "directory-name"
	Leftover        Rule = "leftover"
	Orphan          Rule = "orphan"
	UnknownFile     Rule = "unknown-file"
	StrayPartition  Rule = "stray-partition"
	Unreadable      Rule = "unreadable"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	Rule     Rule     `json:"rule"`
	// File is the path.
	File string `json:"file"`
	// Position and Length are the bytes concerned; -1: not of certain bytes.
	Position int64 `json:"position"`
	Length   int64 `json:"length"`
	// FirstOffset and LastOffset are the records concerned; -1: none, or not known.
	FirstOffset int64 `json:"firstOffset"`
	LastOffset  int64 `json:"lastOffset"`
	// What is wrong, and what it Means for the data.
	What  string `json:"what"`
	Means string `json:"means"`
}

// String is one line.
func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s: %s", f.Severity, f.File, f.Rule)
	if f.Position >= 0 {
		s += fmt.Sprintf(" at byte %d", f.Position)
		if f.Length > 0 {
			s += fmt.Sprintf("+%d", f.Length)
		}
	}
	if f.FirstOffset >= 0 {
		s += fmt.Sprintf(" offsets %d to %d", f.FirstOffset, f.LastOffset)
	}
	return s + ": " + f.What + ". " + f.Means
}

// key tells findings of two looks at the same files apart.
type key struct {
	rule     Rule
	file     string
	position int64
	first    int64
}

func (f Finding) key() key { return key{f.Rule, f.File, f.Position, f.FirstOffset} }

// at makes a finding about bytes of a file; the caller fills in the rest.
func at(rule Rule, severity Severity, file string, position, length int64, what, means string) Finding {
	return Finding{Severity: severity, Rule: rule, File: file, Position: position, Length: length, FirstOffset: -1, LastOffset: -1, What: what, Means: means}
}

// about makes a finding about a whole file.
func about(rule Rule, severity Severity, file, what, means string) Finding {
	return at(rule, severity, file, -1, -1, what, means)
}

// offsets adds the records concerned.
func (f Finding) offsets(first, last int64) Finding {
	f.FirstOffset, f.LastOffset = first, last
	return f
}

// Unread is the finding that a file cannot be read.
func Unread(path string, err error) Finding {
	return about(Unreadable, Error, path, err.Error(), "What is behind it is not known")
}
