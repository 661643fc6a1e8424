package segment

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// scanBytes is how much one read of a header scan fetches: two index intervals, so that a lookup is one read.
const scanBytes = 8192

// smallestTail is what a file may end with without a batch being there (FileLogInputStream).
const smallestTail = 17

// Scanner walks batch headers in a range of a segment, reading no more of the payload than lies between small batches.
//
//	sc, err := s.Scan(from, to)
//	…
//	defer sc.Close()
//	for sc.Next() {
//		use(sc.Header(), sc.Position())
//	}
//	return sc.Err()
type Scanner struct {
	s      *Segment
	file   vfs.File
	next   int64 // position of the batch that Next will look at
	end    int64
	at     int64 // position of the current batch
	header record.Header
	err    error
	// skipped is where the last batch was that was passed over, -1 none.
	skipped int64
	// have bytes of mem are the file's from memAt on.
	memAt int64
	have  int
	// read is what the scan has cost: the bytes of its reads, a page at least for each.
	read int64
	mem  [scanBytes]byte
}

var scanners = sync.Pool{New: func() any { return new(Scanner) }}

// Scan walks the batches that lie in the bytes from … end-1; from must be a batch boundary.
func (s *Segment) Scan(from, end int64) (*Scanner, error) {
	file, err := s.log.Acquire()
	if err != nil {
		return nil, err
	}
	sc := scanners.Get().(*Scanner)
	sc.s, sc.file, sc.next, sc.at, sc.end = s, file, from, from, end
	sc.header, sc.err, sc.skipped, sc.have, sc.read = record.Header{}, nil, -1, 0, 0
	return sc, nil
}

// Close ends the scan.
func (sc *Scanner) Close() {
	sc.s.log.Release()
	sc.s, sc.file, sc.err = nil, nil, nil
	scanners.Put(sc)
}

// Next goes to the next whole batch. It is false at the end, before a batch that reaches beyond it, and at bytes that
// are no batch (then Err is a *record.CorruptError) or cannot be read. Batches with offsets that cannot be in this segment
// are passed over: no CRC covers them, and one flipped bit must not hide what lies behind.
func (sc *Scanner) Next() bool {
	for sc.err == nil && sc.end-sc.next > smallestTail {
		b, err := sc.window()
		if err != nil {
			sc.err = err
			return false
		}
		h, err := record.ParseHeader(b)
		switch {
		case err == record.ErrShort:
			return false
		case err != nil:
			sc.err = sc.corrupt(sc.next, err.Error())
			return false
		case sc.next+int64(h.SizeInBytes) > sc.end:
			return false
		}
		sc.header, sc.at = h, sc.next
		sc.next += int64(h.SizeInBytes)
		if sc.s.holds(&h) {
			return true
		}
		sc.skipped = sc.at
	}
	return false
}

func (sc *Scanner) corrupt(pos int64, reason string) error {
	return &record.CorruptError{File: sc.s.Path(), Position: pos, Offset: record.NoOffset, Reason: reason}
}

// Skipped is the error for the last batch that Next has passed over, nil if there was none.
func (sc *Scanner) Skipped() error {
	if sc.skipped < 0 {
		return nil
	}
	return sc.corrupt(sc.skipped, "a batch with offsets that cannot be in this segment")
}

// window returns the bytes at next, as many as a header needs if the range has them.
func (sc *Scanner) window() ([]byte, error) {
	from := sc.next - sc.memAt
	if need := min(record.HeaderSize, sc.end-sc.next); from < 0 || from+need > int64(sc.have) {
		n := min(scanBytes, sc.end-sc.next)
		if sc.header.SizeInBytes > scanBytes/2 { // large batches: no second header would be in the bytes anyway
			n = min(n, record.HeaderSize)
		}
		sc.memAt, sc.have, from = sc.next, 0, 0
		if got, err := sc.file.ReadAt(sc.mem[:n], sc.next); int64(got) < n {
			return nil, fmt.Errorf("%s: read at byte %d: %w", sc.s.Path(), sc.next, unexpected(err))
		}
		sc.have = int(n)
		sc.read += max(n, 4096)
	}
	return sc.mem[from:sc.have], nil
}

// unexpected turns the end of a file into what it is where more was promised.
func unexpected(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Header is the current batch's header. It is valid until Next.
func (sc *Scanner) Header() *record.Header { return &sc.header }

// Position is where the current batch begins.
func (sc *Scanner) Position() int64 { return sc.at }

// End is where the last whole batch ends: the position at which Next stopped.
func (sc *Scanner) End() int64 { return sc.next }

// Cost is how many bytes the scan has read, a page at least for each read.
func (sc *Scanner) Cost() int64 { return sc.read }

// Err is why Next stopped, nil at the end.
func (sc *Scanner) Err() error { return sc.err }

// Batch reads the current batch whole. The range held it, so the size is bounded by the file's.
func (sc *Scanner) Batch() (record.Batch, error) {
	b := make(record.Batch, sc.header.SizeInBytes)
	if got, err := sc.file.ReadAt(b, sc.at); got < len(b) {
		return nil, fmt.Errorf("%s: read at byte %d: %w", sc.s.Path(), sc.at, unexpected(err))
	}
	return b, nil
}

// ReadMarker reads the end marker of the current batch; nil if it is none: data, emptied by compaction, or another kind of control
// batch.
func (sc *Scanner) ReadMarker() (*record.EndTxnMarker, error) {
	if h := &sc.header; !h.IsControl() || !h.HasProducerID() || h.Count == 0 {
		return nil, nil
	}
	b, err := sc.Batch()
	if err != nil {
		return nil, err
	}
	m, err := Marker(b)
	var c *record.CorruptError
	if errors.As(err, &c) {
		c.File, c.Position = sc.s.Path(), sc.at
	}
	return m, err
}

// Marker returns the end marker in a control batch; nil if it holds another kind of control record or none.
func Marker(b record.Batch) (*record.EndTxnMarker, error) {
	rs := b.Records(0)
	defer rs.Close()
	if !rs.Next() {
		return nil, rs.Err()
	}
	r := rs.Record()
	t, err := record.ParseControlKey(r.Key)
	if err != nil {
		return nil, err
	}
	if t != record.ControlAbort && t != record.ControlCommit {
		return nil, nil
	}
	m, err := record.ParseEndTxnMarker(r.Key, r.Value)
	if err != nil {
		return nil, err
	}
	return &m, nil
}
