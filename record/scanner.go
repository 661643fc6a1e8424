package record

import "encoding/binary"

// Scanner walks the batches in a byte slice, such as the records of a request or a part of a segment that
// was read into memory. It checks sizes and magic, not CRCs.
//
//	s := record.NewScanner(b)
//	for s.Next() {
//		use(s.Batch())
//	}
//	if s.Err() != nil { … }      // something that is no batch
//	tail := s.Rest()             // a batch whose end is not there
type Scanner struct {
	b     []byte
	pos   int
	batch Batch
	err   error
}

// NewScanner returns a Scanner over b, which it borrows; batches point into it.
func NewScanner(b []byte) *Scanner { return &Scanner{b: b} }

// Next goes to the next whole batch. It is false at the end, before a batch that is not all there, and at
// bytes that are no batch (then Err says why). A run of zeros is the latter: its length field is 0.
func (s *Scanner) Next() bool {
	s.batch = nil
	rest := s.b[s.pos:]
	if s.err != nil || len(rest) < LogOverhead {
		return false
	}
	length := int32(binary.BigEndian.Uint32(rest[posLength:]))
	if length >= minLength && len(rest) < headerUpToMagic {
		return false
	}
	if length < minLength {
		s.err = s.corrupt(corruptLength(length))
		return false
	}
	h, err := ParseHeader(rest)
	switch {
	case err == ErrShort:
		return false
	case err != nil:
		s.err = s.corrupt(err)
		return false
	case h.SizeInBytes > len(rest):
		return false
	}
	s.batch = rest[:h.SizeInBytes:h.SizeInBytes]
	s.pos += h.SizeInBytes
	return true
}

func (s *Scanner) corrupt(err error) error {
	return &CorruptError{Position: int64(s.pos), Offset: NoOffset, Reason: err.Error()}
}

// Batch is the current batch.
func (s *Scanner) Batch() Batch { return s.batch }

// Position is where the current batch begins, or where Next stopped.
func (s *Scanner) Position() int { return s.pos - len(s.batch) }

// Err is a *CorruptError if Next stopped at bytes that are no batch.
func (s *Scanner) Err() error { return s.err }

// Rest is what lies behind the last whole batch.
func (s *Scanner) Rest() []byte { return s.b[s.pos:] }
