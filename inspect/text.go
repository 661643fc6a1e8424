package inspect

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
)

// textPrinter prints the lines of Kafka's DumpLogSegments.
type textPrinter struct {
	w            *bufio.Writer
	errw         io.Writer
	skipMetadata bool
	line         []byte // the line being made; kept between lines
	common       common
}

func (p *textPrinter) printf(format string, args ...any) {
	fmt.Fprintf(p.w, format+"\n", args...)
}

// errorf prints to the second stream, after what was printed before.
func (p *textPrinter) errorf(format string, args ...any) {
	p.w.Flush() // an error shows again when Dump flushes
	fmt.Fprintf(p.errw, format+"\n", args...)
}

func (p *textPrinter) file(path, typ string) {
	p.printf("Dumping %s", path)
	if typ == "" {
		p.errorf("Ignoring unknown file %s", path)
	}
}

func (p *textPrinter) logHeader(h logHeader) {
	switch h.kind {
	case "log":
		p.printf("Log starting offset: %d", h.offset)
	case "bootstrap":
		p.printf("KRaft bootstrap snapshot")
	default:
		p.printf("Snapshot end offset: %d, epoch: %d", h.offset, h.epoch)
	}
}

func (p *textPrinter) batch(b batchLine) {
	p.common.follow(&b.Header)
	l := line{p.line[:0]}
	if b.Magic < 2 {
		l.num("offset: ", int64(b.LastOffset()))
	} else {
		l.num("baseOffset: ", int64(b.BaseOffset))
		l.num(" lastOffset: ", int64(b.LastOffset()))
		l.num(" count: ", int64(b.Count))
		l.num(" baseSequence: ", int64(b.BaseSequence))
		l.num(" lastSequence: ", int64(b.LastSequence()))
	}
	l.num(p.common.producer, b.position)
	l.num(p.common.stamp, b.MaxTimestamp)
	l.num(" size: ", int64(b.SizeInBytes))
	l.num(p.common.format, int64(b.CRC))
	l.bool(" isvalid: ", b.valid)
	p.end(l)
}

// common is the text that the batches of a log mostly share, each up to the label of the number behind it. It is made anew where a
// batch differs from the one before: printing is a good part of what a shallow dump costs.
type common struct {
	of                      batchKind
	producer, stamp, format string
}

// batchKind is what the text depends on.
type batchKind struct {
	known         bool
	producer      record.ProducerID
	producerEpoch record.ProducerEpoch
	leaderEpoch   record.LeaderEpoch
	attributes    record.Attributes
	magic         int8
	horizon       int64
}

func (c *common) follow(h *record.Header) {
	horizon, ok := h.DeleteHorizon()
	kind := batchKind{true, h.ProducerID, h.ProducerEpoch, h.LeaderEpoch, h.Attributes, h.Magic, horizon}
	if kind == c.of {
		return
	}
	var l line
	if h.Magic >= 2 {
		l.num(" producerId: ", int64(h.ProducerID))
		l.num(" producerEpoch: ", int64(h.ProducerEpoch))
		l.num(" partitionLeaderEpoch: ", int64(h.LeaderEpoch))
		l.bool(" isTransactional: ", h.IsTransactional())
		l.bool(" isControl: ", h.IsControl())
		l.text(" deleteHorizonMs: ", optionalLong(horizon, ok))
	}
	l.str(" position: ")
	*c = common{of: kind, producer: string(l.b), stamp: " " + h.TimestampType().String() + ": "}
	l.b = l.b[:0]
	l.num(" magic: ", int64(h.Magic))
	l.text(" compresscodec: ", h.Codec().String())
	l.str(" crc: ")
	c.format = string(l.b)
}

// optionalLong is how Java prints one.
func optionalLong(v int64, present bool) string {
	if !present {
		return "OptionalLong.empty"
	}
	return "OptionalLong[" + strconv.FormatInt(v, 10) + "]"
}

// recordIndent stands before everything that belongs to a batch.
const recordIndent = "|"

func (p *textPrinter) record(r *recordLine) {
	l := line{p.line[:0]}
	prefix := " "
	if p.skipMetadata {
		prefix = recordIndent + " "
	} else {
		p.metadata(&l, r)
	}
	if r.contents {
		if r.key.present {
			l.text(prefix+"key: ", r.key.text)
			prefix = " "
		}
		if r.value.present {
			l.text(prefix+"payload: ", r.value.text)
		}
	}
	p.end(l)
}

func (p *textPrinter) metadata(l *line, r *recordLine) {
	l.num(recordIndent+" offset: ", int64(r.Offset))
	l.str(" ")
	l.str(r.batch.TimestampType().String())
	l.num(": ", r.Timestamp)
	l.num(" keySize: ", size(r.Key))
	l.num(" valueSize: ", size(r.Value))
	if r.batch.Magic >= 2 {
		l.num(" sequence: ", int64(r.Sequence))
		l.str(" headerKeys: [")
		for i := range r.Headers {
			if i > 0 {
				l.str(",")
			}
			l.str(javaText([]byte(r.Headers[i].Key)))
		}
		l.str("]")
	}
	if r.Legacy != nil {
		l.bool(" isValid: ", r.Legacy.CRCValid)
		l.num(" crc: ", int64(r.Legacy.CRC))
	}
	if r.control != nil {
		l.str(r.control.text)
	}
}

// size is the length of a key or value, -1 for null.
func size(b []byte) int64 {
	if b == nil {
		return -1
	}
	return int64(len(b))
}

func (p *textPrinter) trailing(name string, bytes int64) {
	p.printf("Found %d invalid bytes at the end of %s", bytes, name)
}

func (p *textPrinter) offsetEntry(e logfile.OffsetEntry) {
	l := line{p.line[:0]}
	l.num("offset: ", e.Offset)
	l.num(" position: ", int64(e.Position))
	p.end(l)
}

func (p *textPrinter) timeEntry(e logfile.TimeEntry) {
	l := line{p.line[:0]}
	l.num("timestamp: ", e.Timestamp)
	l.num(" offset: ", e.Offset)
	p.end(l)
}

func (p *textPrinter) empty(path string) { p.printf("%s is empty.", path) }

func (p *textPrinter) sane(path string) { p.printf("%s passed sanity check.", path) }

func (p *textPrinter) aborted(e logfile.AbortedEntry) {
	p.printf("version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d",
		e.Version, e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset)
}

func (p *textPrinter) producer(e producerEntry) {
	l := line{p.line[:0]}
	l.num("producerId: ", int64(e.ProducerID))
	l.num(" producerEpoch: ", int64(e.ProducerEpoch))
	l.num(" coordinatorEpoch: ", int64(e.CoordinatorEpoch))
	l.text(" currentTxnFirstOffset: ", optionalLong(int64(e.CurrentTxnFirstOffset), e.CurrentTxnFirstOffset >= 0))
	l.num(" lastTimestamp: ", e.LastTimestamp)
	if e.LastOffset >= 0 {
		l.num(" firstSequence: ", int64(e.LastSequence.Back(e.OffsetDelta)))
		l.num(" lastSequence: ", int64(e.LastSequence))
		l.num(" lastOffset: ", int64(e.LastOffset))
		l.num(" offsetDelta: ", int64(e.OffsetDelta))
		l.num(" timestamp: ", e.LastTimestamp)
	}
	p.end(l)
}

func (p *textPrinter) flush() { p.w.Flush() } // an error shows again when Dump flushes

func (p *textPrinter) problem(path string, err error) { p.errorf("%s: %v", path, err) }

func (p *textPrinter) report(r *report) {
	p.findings(&r.mismatches, descending, "Mismatches in :%s", "  Index offset: %d, log offset: %d")
	p.findings(&r.timeMismatches, nil, "Found timestamp mismatch in :%s", "  Index timestamp: %d, log timestamp: %d")
	p.findings(&r.timeOrder, nil, "Found out of order timestamp in :%s", "  Index timestamp: %d, Previously indexed timestamp: %d")
	p.findings(&r.notFound, nil, "The following indexed offsets are not found in :%s", "Indexed offset: %d, found log offset: %d")
	p.findings(&r.gaps, ascending, "Non-consecutive offsets in %s", "  %d is followed by %d")
}

// findings prints one kind; order nil keeps the order of discovery.
func (p *textPrinter) findings(f *findings, order func(x, y finding) int, title, each string) {
	for _, path := range f.paths() {
		p.errorf(title, path)
		list := f.byFile[path]
		if order != nil {
			slices.SortStableFunc(list, order)
		}
		for _, found := range list {
			p.errorf(each, found.a, found.b)
		}
	}
}

func (p *textPrinter) end(l line) {
	p.line = append(l.b, '\n')
	p.w.Write(p.line) // an error shows again when Dump flushes
}

// line is a line of labelled values.
type line struct{ b []byte }

func (l *line) str(s string)             { l.b = append(l.b, s...) }
func (l *line) text(label, value string) { l.b = append(append(l.b, label...), value...) }
func (l *line) num(label string, v int64) {
	if l.b = append(l.b, label...); v == -1 { // what most numbers of most logs are
		l.b = append(l.b, "-1"...)
		return
	}
	l.b = strconv.AppendInt(l.b, v, 10)
}
func (l *line) bool(label string, v bool) {
	l.b = strconv.AppendBool(append(l.b, label...), v)
}
