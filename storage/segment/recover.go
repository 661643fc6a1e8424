package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// recoverBytes is the buffer of one recovery: its memory does not depend on what is recovered.
const recoverBytes = 256 << 10

var recoverBuffers = sync.Pool{New: func() any { return new([recoverBytes]byte) }}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcStartV2 is where the checksummed part of a magic 2 batch begins: behind the checksum itself. Of older messages it
// is the magic byte.
const crcStartV2 = 21

// Damage is where recovery met bytes that are no valid batch.
type Damage struct {
	// Position is where the broken bytes begin.
	Position int64
	// Expected is the smallest offset that could stand there.
	Expected record.Offset
	Reason   error
}

// Recovery makes a segment trustworthy again after a crash: it reads batches whole, checks their CRC, and makes the
// index entries anew.
//
//	r, err := s.StartRecovery(pos, offset)
//	defer r.Close()
//	for r.Next() { … }          // one valid batch
//	damage := r.Damage()        // nil at the end of the file
//
// Then the owner decides: Cut throws away what lies behind the last valid batch, Skip goes on behind the damage.
type Recovery struct {
	s        *Segment
	file     vfs.File
	fileSize int64
	// buf[:have] are the file's bytes from bufAt on.
	buf   *[recoverBytes]byte
	bufAt int64
	have  int
	// next is where the next batch should begin, offset the smallest it may have.
	next   int64
	offset record.Offset
	header record.Header
	at     int64
	// skipped makes the next batch be indexed, so that no lookup has to cross the damage.
	skipped bool
	damage  *Damage
	err     error
}

// StartRecovery begins at position from, where a batch of offset at least offset begins; everything before is
// believed. The segment becomes active, its size is what was found valid so far.
func (s *Segment) StartRecovery(from int64, offset record.Offset) (*Recovery, error) {
	if err := s.rewindIndexes(from, offset); err != nil {
		return nil, err
	}
	file, err := s.log.Acquire()
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		s.log.Release()
		return nil, err
	}
	s.size.Store(from)
	s.dirty.Store(true) // what a process that died had written may still be with the system
	return &Recovery{s: s, file: file, fileSize: size, buf: recoverBuffers.Get().(*[recoverBytes]byte), next: from, offset: offset}, nil
}

// rewindIndexes leaves the index entries of the batches before from.
func (s *Segment) rewindIndexes(from int64, offset record.Offset) error {
	s.heal.Lock()
	defer s.heal.Unlock()
	s.active.Store(true)
	s.unchanged.Store(false)
	s.sinceIndex = 0
	if from == 0 {
		s.setLargest(record.NoTimestamp, s.o.Base)
		return errors.Join(s.offsets.Load().Reset(), s.times.Load().Reset(), s.txns.Reset())
	}
	if err := s.cutIndexes(offset); err != nil {
		return err
	}
	_, pos, err := s.lookup(offset)
	if err != nil {
		return err
	}
	s.sinceIndex = from - int64(pos)
	return s.rereadLargest(from)
}

// Close ends the recovery.
func (r *Recovery) Close() {
	r.s.log.Release()
	recoverBuffers.Put(r.buf)
}

// Next goes to the next valid batch and indexes it.
func (r *Recovery) Next() bool {
	if r.err != nil || r.damage != nil || r.next == r.fileSize {
		return false
	}
	h, err := r.check(r.next)
	if err != nil {
		r.stop(err)
		return false
	}
	if err := r.note(&h); err != nil {
		r.err = err
		return false
	}
	r.header, r.at = h, r.next
	r.next += int64(h.SizeInBytes)
	r.offset = h.NextOffset()
	r.s.sinceIndex += int64(h.SizeInBytes)
	r.s.size.Store(r.next)
	return true
}

// stop tells damage from a file that cannot be read.
func (r *Recovery) stop(err error) {
	if errors.Is(err, record.ErrCorruptBatch) {
		r.damage = &Damage{Position: r.next, Expected: r.offset, Reason: err}
		return
	}
	r.err = err
}

// note takes a batch into account like an append does.
func (r *Recovery) note(h *record.Header) error {
	s := r.s
	if r.skipped {
		s.sinceIndex, r.skipped = maxRelative, false
	}
	return s.note(h, r.next, s.o.IndexInterval)
}

// check reads the batch at pos whole and returns its header. Whatever is wrong with it is an error that matches
// record.ErrCorruptBatch.
func (r *Recovery) check(pos int64) (record.Header, error) {
	b, err := r.window(pos, record.HeaderSize)
	if err != nil {
		return record.Header{}, err
	}
	h, err := record.ParseHeader(b)
	switch {
	case err != nil: // including too few bytes for a header
		return h, r.corrupt(pos, err.Error())
	case pos+int64(h.SizeInBytes) > r.fileSize:
		return h, r.corrupt(pos, fmt.Sprintf("a batch of %d bytes of which %d are there", h.SizeInBytes, r.fileSize-pos))
	case h.LastOffset() < h.BaseOffset || h.BaseOffset < r.offset || !r.s.Fits(h.LastOffset()):
		return h, r.corrupt(pos, fmt.Sprintf("offsets %d to %d where %d or more is expected", h.BaseOffset, h.LastOffset(), r.offset))
	}
	sum, err := r.checksum(&h, pos)
	if err == nil && sum != h.CRC {
		err = r.corrupt(pos, fmt.Sprintf("stored CRC is %d, computed CRC is %d", h.CRC, sum))
	}
	return h, err
}

// window returns the bytes at pos: n, or as many as the buffer and the file have. Bytes that are in the buffer are not
// read again.
func (r *Recovery) window(pos int64, n int) ([]byte, error) {
	n = int(min(int64(n), recoverBytes, r.fileSize-pos))
	skip := pos - r.bufAt
	if skip < 0 || skip > int64(r.have) {
		skip, r.have = 0, 0
	}
	if r.have-int(skip) < n {
		r.have = copy(r.buf[:], r.buf[skip:r.have])
		r.bufAt = pos
		want := min(recoverBytes, r.fileSize-pos)
		if got, err := r.file.ReadAt(r.buf[r.have:want], pos+int64(r.have)); int64(r.have+got) < want {
			r.have = 0
			return nil, fmt.Errorf("%s: read at byte %d: %w", r.s.Path(), pos, unexpected(err))
		}
		r.have = int(want)
		skip = 0
	}
	return r.buf[skip:r.have], nil
}

// checksum goes over the batch at pos in pieces of the buffer's size.
func (r *Recovery) checksum(h *record.Header, pos int64) (uint32, error) {
	table, start := castagnoli, int64(crcStartV2)
	if h.Magic < 2 {
		table, start = crc32.IEEETable, record.MagicOffset
	}
	sum, end := uint32(0), pos+int64(h.SizeInBytes)
	for at := pos + start; at < end; {
		piece, err := r.window(at, int(min(end-at, recoverBytes)))
		if err != nil {
			return 0, err
		}
		piece = piece[:min(int64(len(piece)), end-at)]
		sum = crc32.Update(sum, table, piece)
		at += int64(len(piece))
	}
	return sum, nil
}

func (r *Recovery) corrupt(pos int64, reason string) error {
	return &record.CorruptError{File: r.s.Path(), Position: pos, Offset: r.offset, Reason: reason}
}

// Header is the current batch's header.
func (r *Recovery) Header() *record.Header { return &r.header }

// Marker reads the current batch's end marker, nil if it is none.
func (r *Recovery) Marker() (*record.EndTxnMarker, error) {
	if !r.header.IsControl() || !r.header.HasProducerID() {
		return nil, nil
	}
	sc, err := r.s.Scan(r.at, r.next)
	if err != nil {
		return nil, err
	}
	defer sc.Close()
	if !sc.Next() {
		return nil, sc.Err()
	}
	return sc.ReadMarker()
}

// Damage is where Next stopped; nil at the end of the file.
func (r *Recovery) Damage() *Damage { return r.damage }

// Err is why Next stopped other than by damage.
func (r *Recovery) Err() error { return r.err }

// NextOffset is the offset after the last valid batch.
func (r *Recovery) NextOffset() record.Offset { return r.offset }

// Cut removes what lies behind the last valid batch and returns how many bytes that were.
func (r *Recovery) Cut() (int64, error) {
	cut := r.fileSize - r.next
	r.fileSize = r.next
	return cut, r.s.cutLog(r.next)
}

// Skip goes on at the next valid batch behind the damage and returns where it begins, and its offset. Without any, ok is
// false, and the rest of the file stays as it is behind the segment's size. The damage itself stays where it is: nothing
// below the recovery point is cut.
func (r *Recovery) Skip() (behind int64, next record.Offset, ok bool, err error) {
	pos, ok, err := r.resync(r.damage.Position + 1)
	if err != nil || !ok {
		return r.fileSize, r.offset, false, err
	}
	h, err := r.check(pos)
	if err != nil {
		return 0, 0, false, err
	}
	r.next, r.damage, r.skipped = pos, nil, true
	r.s.size.Store(pos)
	return pos, h.BaseOffset, true, nil
}

// resync looks for the next bytes from pos on that are a valid batch with a later offset. That its CRC must match rules
// out what merely looks like a header.
func (r *Recovery) resync(pos int64) (int64, bool, error) {
	window := make([]byte, scanBytes)
	for pos+smallestTail < r.fileSize {
		n := min(int64(len(window)), r.fileSize-pos)
		if got, err := r.file.ReadAt(window[:n], pos); int64(got) < n {
			return 0, false, fmt.Errorf("%s: read at byte %d: %w", r.s.Path(), pos, unexpected(err))
		}
		for i := int64(0); i+smallestTail < n; i++ {
			if !r.plausible(window[i:n]) {
				continue
			}
			if _, err := r.check(pos + i); err == nil {
				return pos + i, true, nil
			} else if !errors.Is(err, record.ErrCorruptBatch) {
				return 0, false, err
			}
		}
		pos += n - smallestTail
	}
	return 0, false, nil
}

// plausible sorts out nearly all positions before a CRC is computed.
func (r *Recovery) plausible(b []byte) bool {
	base := record.Offset(binary.BigEndian.Uint64(b))
	return b[record.MagicOffset] <= 2 && base >= r.offset && r.s.Fits(base)
}
