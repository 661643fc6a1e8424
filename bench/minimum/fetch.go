package minimum

import (
	"encoding/binary"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// piece is a part of a reply: encoded bytes up to an end in the buffer, followed by a range of a file.
type piece struct {
	encoded  int
	file     *os.File
	from, to int64
}

// fetch waits until there is enough and sends it.
func (s *Server) fetch(c *net.TCPConn, q *kmsg.FetchRequest, out []byte) ([]byte, error) {
	var timeout <-chan time.Time
	header := len(out)
	for {
		encoded, pieces, found, grown := s.encodeFetch(q, out[:header])
		out = encoded
		if found >= int64(q.MinBytes) || grown == nil {
			return out, send(c, out, pieces, found)
		}
		if timeout == nil {
			timer := time.NewTimer(time.Duration(q.MaxWaitMillis) * time.Millisecond)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-grown: // of the last partition only: enough for the rows in which something waits
		case <-s.done:
			return out, net.ErrClosed
		case <-timeout:
			return out, send(c, out, pieces, found)
		}
	}
}

// encodeFetch returns the reply without the records, where those are, how many bytes they have, and a channel that
// is closed when the last partition grows.
func (s *Server) encodeFetch(q *kmsg.FetchRequest, out []byte) ([]byte, []piece, int64, <-chan struct{}) {
	var pieces []piece
	var found int64
	var waiting <-chan struct{}
	out = append(out, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // throttle, error, session
	out = binary.AppendUvarint(out, uint64(len(q.Topics))+1)
	for _, t := range q.Topics {
		out = binary.AppendUvarint(out, uint64(len(t.Topic))+1)
		out = append(out, t.Topic...)
		out = binary.AppendUvarint(out, uint64(len(t.Partitions))+1)
		for _, wanted := range t.Partitions {
			var from, to, end int64
			var code int16
			p := s.partition(t.Topic, wanted.Partition)
			if p == nil {
				code = kerr.UnknownTopicOrPartition.Code
			} else if limit := min(int64(wanted.PartitionMaxBytes), int64(q.MaxBytes)-found); limit > 0 || found == 0 {
				from, to, end, waiting = p.read(wanted.FetchOffset, limit)
			}
			out = binary.BigEndian.AppendUint32(out, uint32(wanted.Partition))
			out = binary.BigEndian.AppendUint16(out, uint16(code))
			out = binary.BigEndian.AppendUint64(out, uint64(end)) // high watermark
			out = binary.BigEndian.AppendUint64(out, uint64(end)) // last stable offset
			out = binary.BigEndian.AppendUint64(out, 0)           // log start
			out = append(out, 0)                                  // aborted transactions: null
			out = append(out, 0xff, 0xff, 0xff, 0xff)             // preferred read replica: none
			out = binary.AppendUvarint(out, uint64(to-from)+1)
			if to > from {
				pieces = append(pieces, piece{len(out), p.file, from, to})
				found += to - from
			}
			out = append(out, 0)
		}
		out = append(out, 0)
	}
	return append(out, 0), pieces, found, waiting
}

// copied is the size up to which a range is copied behind the encoded bytes instead of sent by the kernel: below it
// the second system call costs more than the copy.
const copied = 16 << 10

// send writes the frame: encoded bytes and ranges of files by turns.
func send(c *net.TCPConn, out []byte, pieces []piece, records int64) error {
	binary.BigEndian.PutUint32(out, uint32(int64(len(out)-4)+records))
	var buffer []byte
	at := 0
	for _, p := range pieces {
		buffer = append(buffer, out[at:p.encoded]...)
		at = p.encoded
		if n := int(p.to - p.from); n <= copied {
			old := len(buffer)
			buffer = append(buffer, make([]byte, n)...)
			if _, err := p.file.ReadAt(buffer[old:], p.from); err != nil {
				return err
			}
			continue
		}
		if _, err := c.Write(buffer); err != nil {
			return err
		}
		buffer = buffer[:0]
		if err := sendFile(c, p.file, p.from, p.to); err != nil {
			return err
		}
	}
	_, err := c.Write(append(buffer, out[at:]...))
	return err
}
