package cleaner

import (
	"context"
	"io"
	"iter"
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/segment"
)

// entry is what compaction wants to know of one record.
type entry struct {
	offset record.Offset
	key    keyHash // if it has one
	// keyless and tombstone: key, value are null.
	keyless, tombstone bool
}

// checked is a batch that is in order as a whole, with what its records tell.
type checked struct {
	batch  record.Batch
	header record.Header
	pos    int64
	// unsummed: the checksum has still to be compared, which batches does before it lends the batch.
	unsummed bool
	// entries are those of the records, in order, and err what is wrong with the record behind them; of an unwalked batch
	// nobody has looked at the records yet.
	entries  []entry
	err      error
	unwalked bool
}

// walk takes the records of a batch apart.
func walk(b record.Batch, maxRecordBytes int, visit func(entry) bool) error {
	rs := b.Records(maxRecordBytes)
	defer rs.Close()
	for rs.Next() {
		rec := rs.Record()
		e := entry{offset: rec.Offset, keyless: rec.Key == nil, tombstone: rec.Value == nil}
		if !e.keyless {
			e.key = hash(rec.Key)
		}
		if !visit(e) {
			return nil
		}
	}
	return rs.Err()
}

// pieceCount is how many pieces of a segment there are at a time: one that is used, one that is being made, and others
// between them, as both sides take turns at being the slower one.
const pieceCount = 4

// reader walks the batches of segments. A goroutine of its own goes ahead: it reads, compares as many checksums and takes
// as many batches apart as it finds time for while there is enough for the other side to do. Both are done to a batch by
// the same side, in whose processor's cache it is then.
type reader struct {
	// size is the usual size of a piece in bytes.
	size           int
	maxRecordBytes int
	// pace is told of what is going to be read, and may refuse. The context ends with the walk.
	pace func(ctx context.Context, bytes int) error

	pieces [pieceCount]piece
	read   int64
}

// batches walks the batches of s from the batch boundary pos on. Each is lent until the next; an error is the last that
// comes. When the loop is left nothing is being read any more.
func (r *reader) batches(ctx context.Context, s *segment.Segment, pos int64) iter.Seq2[*checked, error] {
	return func(yield func(*checked, error) bool) {
		a, stop := r.start(ctx, s, pos)
		defer stop()
		for p := range a.full {
			for i := range p.batches {
				c := &p.batches[i]
				if err := a.sum(c); err != nil {
					yield(nil, err)
					return
				}
				if !yield(c, nil) {
					return
				}
			}
			if p.err == io.EOF {
				return
			}
			if p.err != nil {
				yield(nil, p.err)
				return
			}
			a.free <- p
		}
		yield(nil, errAborted) // nothing else keeps it from saying how it ended
	}
}

// start lets a goroutine go ahead; stop ends it and counts what it has read.
func (r *reader) start(ctx context.Context, s *segment.Segment, pos int64) (a *ahead, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	a = &ahead{reader: r, ctx: ctx, s: s, pos: pos, end: s.Size(), last: record.NoOffset,
		free: make(chan *piece, pieceCount), full: make(chan *piece, pieceCount)}
	for i := range r.pieces {
		r.pieces[i].shrink(r.size)
		a.free <- &r.pieces[i]
	}
	var running sync.WaitGroup
	running.Go(a.run)
	return a, func() {
		cancel()
		running.Wait()
		r.read += a.got
	}
}

// entries visits what the records of c tell, until visit returns false. It returns what is wrong with the first broken
// record, having visited those before; of a batch that goes as a whole nobody asks.
func (r *reader) entries(c *checked, visit func(entry) (more bool)) error {
	if c.unwalked {
		return walk(c.batch, r.maxRecordBytes, visit)
	}
	for _, e := range c.entries {
		if !visit(e) {
			return nil
		}
	}
	return c.err
}
