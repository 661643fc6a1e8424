package deadletter

import (
	"strconv"

	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
)

// The headers of a letter, in their order (KIP-1191). Values are text.
const (
	headerTopic     = "__dlq.errors.topic"
	headerPartition = "__dlq.errors.partition"
	headerOffset    = "__dlq.errors.offset"
	headerGroup     = "__dlq.errors.group"
	headerCount     = "__dlq.errors.delivery.count"
	headerMessage   = "__dlq.errors.message"
)

// message is what a letter says of its cause.
func message(c window.Cause) string {
	if c == window.Exhausted {
		return "Offset delivery count exceeded the threshold."
	}
	return "Offset rejected by client."
}

// headers are those of a letter about one offset.
func (d *delivery) headers(l *window.Letter, offset record.Offset) []record.RecordHeader {
	tp := d.source.TopicPartition()
	return []record.RecordHeader{
		{Key: headerTopic, Value: []byte(tp.Topic)},
		{Key: headerPartition, Value: strconv.AppendInt(nil, int64(tp.Partition), 10)},
		{Key: headerOffset, Value: strconv.AppendInt(nil, int64(offset), 10)},
		{Key: headerGroup, Value: []byte(d.group)},
		{Key: headerCount, Value: strconv.AppendInt(nil, int64(l.Count), 10)},
		{Key: headerMessage, Value: []byte(message(l.Cause))},
	}
}

// batchBytes bounds a batch of more than one letter.
const batchBytes = 1 << 20

// fill makes a batch of the next letters, at least one, and no more if alone. The queue takes batches of up to limit bytes; a
// letter that would be larger has no copy, which is better than none at all. originals is nil when there are to be no copies.
func (d *delivery) fill(limit int, alone bool, originals *reader) *record.Builder {
	b := record.NewBuilder(record.DefaultBuilderOptions())
	now := d.w.o.Now().UnixMilli()
	for i := range d.letters {
		l := &d.letters[i]
		for o := l.First; o <= l.Last; o++ {
			var r record.Record
			if originals != nil {
				r = originals.at(o)
			}
			hs := d.headers(l, o)
			if b.Count() > 0 && (alone || b.Size()+most(r.Key, r.Value, hs) > min(limit, batchBytes)) {
				return b
			}
			b.Append(now, r.Key, r.Value, hs)
			if b.Size() > limit && originals != nil { // the first, and by itself too large
				b = record.NewBuilder(record.DefaultBuilderOptions())
				b.Append(now, nil, nil, hs)
			}
		}
	}
	return b
}

// most is the most that a record takes: a varint has up to ten bytes, and there are few of them.
func most(key, value []byte, headers []record.RecordHeader) int {
	const varint = 10
	n := 6*varint + len(key) + len(value)
	for _, h := range headers {
		n += 2*varint + len(h.Key) + len(h.Value)
	}
	return n
}
