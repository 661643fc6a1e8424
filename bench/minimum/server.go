package minimum

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrame is the largest request that is read, in bytes.
const maxFrame = 100 << 20

// Options of a server.
type Options struct {
	// Dir takes one file per partition.
	Dir string
	// OnlyAnswers leaves out checking and writing.
	OnlyAnswers bool
}

// Server is a minimum broker.
type Server struct {
	options Options
	host    string
	port    int32
	// done is closed when no more connections are taken: fetches stop waiting.
	done chan struct{}

	mu struct {
		sync.Mutex
		topics       map[string]*topic
		nextProducer int64
		nextFile     int
	}
}

type topic struct {
	id         [16]byte
	partitions []*partition
}

// Serve answers on l until it is closed.
func Serve(l net.Listener, o Options) error {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return fmt.Errorf("minimum broker: %w", err)
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return fmt.Errorf("minimum broker: %w", err)
	}
	s := &Server{options: o, host: host, port: int32(n), done: make(chan struct{})}
	s.mu.topics = map[string]*topic{}
	var running sync.WaitGroup
	defer running.Wait()
	defer close(s.done)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("minimum broker: %w", err)
		}
		running.Go(func() {
			defer c.Close()
			// A client that goes away or talks nonsense loses its connection and nothing else.
			_ = s.serve(c.(*net.TCPConn))
		})
	}
}

// serve answers the requests of one connection in their order.
func (s *Server) serve(c *net.TCPConn) error {
	in := bufio.NewReaderSize(c, 16<<10)
	var frame, out []byte
	for {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return err
		}
		n := int32(binary.BigEndian.Uint32(size[:]))
		if n < 8 || n > maxFrame {
			return fmt.Errorf("a frame of %d bytes", n)
		}
		if cap(frame) < int(n) {
			frame = make([]byte, n)
		}
		frame = frame[:n]
		if _, err := io.ReadFull(in, frame); err != nil {
			return err
		}
		var err error
		if out, err = s.answer(c, frame, out[:0]); err != nil {
			return err
		}
	}
}

// answer handles one request and returns the buffer for the next reply.
func (s *Server) answer(c *net.TCPConn, frame, out []byte) ([]byte, error) {
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	correlation := frame[4:8]
	request := kmsg.RequestForKey(key)
	if request == nil {
		return nil, fmt.Errorf("request %d", key)
	}
	request.SetVersion(version)
	body, err := skipHeader(frame[8:], request.IsFlexible())
	if err != nil {
		return nil, err
	}
	out = append(append(out, 0, 0, 0, 0), correlation...)
	if request.IsFlexible() && key != int16(kmsg.ApiVersions) {
		out = append(out, 0) // no tags in the header
	}
	if fetch, ok := request.(*kmsg.FetchRequest); ok {
		if version != fetchVersion {
			return nil, fmt.Errorf("fetch version %d", version)
		}
		if err := fetch.ReadFrom(body); err != nil {
			return nil, err
		}
		return s.fetch(c, fetch, out)
	}
	if err := request.ReadFrom(body); err != nil {
		return nil, err
	}
	response, err := s.respond(request)
	if err != nil || response == nil {
		return out, err
	}
	response.SetVersion(version)
	out = response.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err = c.Write(out)
	return out, err
}

// skipHeader returns what follows the client id and, in flexible versions, the tags of a request header.
func skipHeader(b []byte, flexible bool) ([]byte, error) {
	if len(b) < 2 {
		return nil, io.ErrUnexpectedEOF
	}
	n := max(int(int16(binary.BigEndian.Uint16(b))), 0)
	if b = b[2:]; len(b) < n {
		return nil, io.ErrUnexpectedEOF
	}
	b = b[n:]
	if !flexible {
		return b, nil
	}
	if len(b) == 0 || b[0] != 0 {
		return nil, errors.New("tags in a request header")
	}
	return b[1:], nil
}

// respond returns the reply to everything but fetches; none for acks=0.
func (s *Server) respond(request kmsg.Request) (kmsg.Response, error) {
	switch r := request.(type) {
	case *kmsg.ProduceRequest:
		return s.produce(r)
	case *kmsg.ApiVersionsRequest:
		return apiVersions(), nil
	case *kmsg.MetadataRequest:
		return s.metadata(r), nil
	case *kmsg.CreateTopicsRequest:
		return s.createTopics(r)
	case *kmsg.DeleteTopicsRequest:
		return s.deleteTopics(r), nil
	case *kmsg.InitProducerIDRequest:
		return s.initProducerID(), nil
	case *kmsg.ListOffsetsRequest:
		return s.listOffsets(r), nil
	default:
		return nil, fmt.Errorf("request %d", request.Key())
	}
}

func (s *Server) partition(name string, number int32) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.mu.topics[name]
	if t == nil || number < 0 || int(number) >= len(t.partitions) {
		return nil
	}
	return t.partitions[number]
}

func (s *Server) newPartitionLocked() (*partition, error) {
	s.mu.nextFile++
	f, err := os.Create(filepath.Join(s.options.Dir, strconv.Itoa(s.mu.nextFile)+".log"))
	if err != nil {
		return nil, fmt.Errorf("minimum broker: %w", err)
	}
	return newPartition(f), nil
}
