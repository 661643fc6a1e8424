package logdir

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/samsalog/samsa/record"
)

// Kind says what a partition directory is.
type Kind int8

// The kinds of partition directories.
const (
	Current Kind = iota // <topic>-<partition>
	Deleted             // …-delete: being removed
	Stray               // …-stray: set aside, nobody owns it
	Future              // …-future: a replica being moved into this directory
)

var suffixes = [...]string{Deleted: "-delete", Stray: "-stray", Future: "-future"}

// maxName is the longest file name of common file systems.
const maxName = 255

// String returns the suffix that the kind gives to a name; "" for Current.
func (k Kind) String() string { return suffixes[k] }

// Name is a parsed name of a partition directory. The topic of a Deleted or Stray one may be cut short: it must not be
// used to find anything.
type Name struct {
	TopicPartition record.TopicPartition
	Kind           Kind
}

// FormatName returns the name of a partition's directory. unique tells several directories of one partition apart; it
// is left out of a Current one. The topic is cut where a -delete or -stray name would be longer than 255 bytes.
func FormatName(tp record.TopicPartition, kind Kind, unique record.UUID) string {
	if kind == Current {
		return tp.String()
	}
	tail := fmt.Sprintf("-%d.%s%s", tp.Partition, hex.EncodeToString(unique[:]), kind)
	topic := tp.Topic
	if kind != Future {
		topic = topic[:min(len(topic), maxName-len(tail))]
	}
	return topic + tail
}

// ParseName reads the name of a partition directory as LocalLog.parseTopicPartitionName does: a suffix asks for the
// form topic-partition.unique-suffix, of which everything from the last dot on is dropped; then the last dash parts
// topic and partition.
func ParseName(name string) (Name, error) {
	bad := func(why string) (Name, error) {
		return Name{}, fmt.Errorf("directory name %.300q: %s", name, why)
	}
	if name == "" || !strings.Contains(name, "-") {
		return bad("not of the form topic-partition")
	}
	out, rest := Name{}, name
	for kind := Deleted; kind <= Future; kind++ {
		if !strings.HasSuffix(name, kind.String()) {
			continue
		}
		out.Kind = kind
		if !hasUniqueForm(strings.TrimSuffix(name, kind.String())) {
			return bad("not of the form topic-partition.unique" + kind.String())
		}
		rest = name[:strings.LastIndexByte(name, '.')]
		break
	}
	dash := strings.LastIndexByte(rest, '-')
	if dash <= 0 || dash == len(rest)-1 {
		return bad("topic or partition is empty")
	}
	partition, err := strconv.ParseInt(rest[dash+1:], 10, 32)
	if err != nil {
		return bad("the partition is no number")
	}
	out.TopicPartition = record.TopicPartition{Topic: rest[:dash], Partition: int32(partition)}
	return out, nil
}

// hasUniqueForm reports whether s is nonspace+ '-' nonspace+ '.' nonspace+.
func hasUniqueForm(s string) bool {
	if strings.IndexFunc(s, unicode.IsSpace) >= 0 {
		return false
	}
	dot := strings.LastIndexByte(s, '.')
	if dot < 0 || dot == len(s)-1 {
		return false
	}
	// Some dash must have something on both sides before the last dot.
	return strings.IndexByte(s[min(1, dot):max(min(1, dot), dot-1)], '-') >= 0
}
