package wire

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzFrame feeds the bytes of one frame through header and body: it must not panic, and what is decoded must encode
// to no more than was sent, so that nothing was made out of claimed sizes.
func FuzzFrame(f *testing.F) {
	everyRequest(func(req kmsg.Request) {
		if req.GetVersion() == req.MaxVersion() {
			f.Add(encode(req, req.GetVersion(), 1)[4:])
		}
	})
	f.Add(raw(3, 1, false, 0x7f, 0xff, 0xff, 0xff)[4:])
	f.Add(raw(3, 12, true, 0x80, 0x80, 0x80, 0x80, 0x80, 1)[4:])
	ss := loadSchemas()
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, err := parseFixed(frame)
		if err != nil {
			return
		}
		body, err := h.parseRest(frame, ss.flexible(h.key, h.version), "")
		if err != nil || h.version < 0 {
			return
		}
		req, err := ss.decode(h, body)
		if err != nil {
			return
		}
		// Replaced text may triple.
		if n := len(req.AppendTo(nil)); n > 3*len(frame)+1000 {
			t.Errorf("%T: %d bytes out of %d", req, n, len(frame))
		}
	})
}

// FuzzConnection feeds whole streams to a connection in two pieces.
func FuzzConnection(f *testing.F) {
	f.Add(append(encode(kmsg.NewPtrMetadataRequest(), 12, 1), encode(kmsg.NewPtrApiVersionsRequest(), 4, 2)...), 7)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), 3)
	f.Add(append(encode(kmsg.NewPtrFetchRequest(), 4, 1), 0, 0, 0, 99), 0)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		l := newPipeListener()
		s := NewServer(Options{Limits: Limits{MaxRequestBytes: 1 << 16}, Handler: handlerFunc(plain)})
		go s.Serve(l, testListener)
		nc := l.dial()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			b := make([]byte, 1<<10)
			for {
				if _, err := nc.Read(b); err != nil {
					return
				}
			}
		}()
		cut = max(0, min(cut, len(stream)))
		nc.Write(stream[:cut])
		nc.Write(stream[cut:])
		nc.Close()
		<-drained
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
