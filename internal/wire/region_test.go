package wire

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/vfs"
)

// regionFile makes a file of n random bytes on the host.
func regionFile(t testing.TB, n int) (vfs.File, []byte) {
	t.Helper()
	content := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	for i := range content {
		content[i] = byte(r.Uint32())
	}
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := vfs.NewOS().OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, content
}

// busyAuto is RegionsAuto while many buffers are out.
const busyAuto RegionMode = -1

// TestRegions: pieces and regions of all sizes arrive byte for byte, whichever way they are sent, and each region is
// released once (WIRE-5).
func TestRegions(t *testing.T) {
	file, content := regionFile(t, 4<<20)
	for _, mode := range []RegionMode{RegionsAuto, RegionsCopy, RegionsSendfile, busyAuto} {
		var held atomic.Int32
		handler := handlerFunc(func(_ context.Context, r *Request) Reply {
			reply := Reply{}
			at := 0
			for _, n := range []int{0, 1, 100, 40000, 70000, chunkBytes - 9, chunkBytes, 1 << 20, 7} {
				held.Add(1)
				reply.Pieces = append(reply.Pieces, Piece{
					Bytes:  content[at : at+n/3],
					Region: vfs.NewRegion(file, int64(at+n/3), n-n/3, func() { held.Add(-1) }),
				})
				at += n
			}
			reply.Pieces = append(reply.Pieces, Piece{Bytes: content[at : at+300000]})
			return reply
		})
		o := Options{Handler: handler, Send: Send{Regions: mode}}
		if mode == busyAuto {
			o.Send.Regions = RegionsAuto
		}
		s, addr := start(t, o)
		if mode == busyAuto {
			s.pools.lent.Add(manyLent)
		}
		c := dial(t, addr)
		for i := range 3 {
			c.write(encode(kmsg.NewPtrFetchRequest(), 12, int32(i)))
			got, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			want := 1 + 100 + 40000 + 70000 + chunkBytes - 9 + chunkBytes + 1<<20 + 7 + 300000
			if len(got) != 5+want || !bytes.Equal(got[5:], content[:want]) {
				t.Errorf("mode %d: %d bytes arrived, want %d of the file", mode, len(got)-5, want)
			}
		}
		c.write(encode(kmsg.NewPtrFetchRequest(), 12, 9)) // a pipelined one after it works as well
		if _, err := c.read(); err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if n := held.Load(); n != 0 {
			t.Errorf("mode %d: %d regions held", mode, n)
		}
		if n := s.pools.lent.Load(); n != 0 && (mode != busyAuto || n != manyLent) {
			t.Errorf("mode %d: %d bytes of buffers were not given back", mode, n)
		}
	}
}

// TestRegionShorterThanItSays: a file that ends early ends the connection, and the region is released.
func TestRegionShorterThanItSays(t *testing.T) {
	file, _ := regionFile(t, 100_000)
	for _, mode := range []RegionMode{RegionsCopy, RegionsSendfile} {
		for _, n := range []int{90_000, 200_000} {
			var held atomic.Int32
			s, addr := start(t, Options{Send: Send{Regions: mode}, Handler: handlerFunc(func(_ context.Context, r *Request) Reply {
				held.Add(1)
				return Reply{Pieces: []Piece{{Bytes: make([]byte, 10), Region: vfs.NewRegion(file, 50_000, n, func() { held.Add(-1) })}}}
			})})
			c := dial(t, addr)
			c.write(encode(kmsg.NewPtrFetchRequest(), 4, 1))
			if !c.closed() {
				t.Errorf("mode %d: still open", mode)
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if n := held.Load(); n != 0 {
				t.Errorf("mode %d: %d regions held", mode, n)
			}
		}
	}
}

// TestRegionOfClosedConnection: regions of a reply that cannot be sent are released.
func TestRegionOfClosedConnection(t *testing.T) {
	file, _ := regionFile(t, 1<<20)
	released := make(chan struct{}, 64)
	entered, gone := make(chan struct{}), make(chan struct{})
	_, addr := start(t, Options{Handler: handlerFunc(func(_ context.Context, r *Request) Reply {
		close(entered)
		<-gone
		var reply Reply
		for range 64 {
			reply.Pieces = append(reply.Pieces, Piece{Region: vfs.NewRegion(file, 0, 1<<20, func() { released <- struct{}{} })})
		}
		return reply
	})})
	c := dial(t, addr)
	c.write(encode(kmsg.NewPtrFetchRequest(), 4, 1))
	<-entered
	c.Close()
	close(gone)
	for range 64 {
		<-released
	}
}

// TestRegionsOverMemory: files and connections without descriptors are copied.
func TestRegionsOverMemory(t *testing.T) {
	fs := vfs.NewMem()
	f, err := fs.OpenFile("log", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("abcdefgh"), 50_000)
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	l := newPipeListener()
	s := NewServer(Options{Send: Send{Regions: RegionsSendfile}, Handler: handlerFunc(func(_ context.Context, r *Request) Reply {
		return Reply{Pieces: []Piece{{Region: vfs.NewRegion(f, 8, 399_992, nil)}}}
	})})
	go s.Serve(l, testListener)
	c := &client{t, l.dial()}
	c.write(encode(kmsg.NewPtrFetchRequest(), 4, 1))
	got, err := c.read()
	if err != nil || !bytes.Equal(got[4:], content[8:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	c.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRegionModes: what auto does with which region.
func TestRegionModes(t *testing.T) {
	for _, c := range []struct {
		mode     RegionMode
		loopback bool
		n        int
		want     bool
	}{
		{RegionsAuto, false, DefaultSendfileFrom, true}, {RegionsAuto, false, DefaultSendfileFrom - 1, false}, {RegionsAuto, true, 1 << 30, false},
		{RegionsCopy, false, 1 << 30, false}, {RegionsSendfile, true, 1, true},
	} {
		o := outbound{c: &conn{s: NewServer(Options{Send: Send{Regions: c.mode}}), loopback: c.loopback}}
		if got := o.useSendfile(c.n); got != c.want {
			t.Errorf("%+v: sendfile is %v", c, got)
		}
	}
}
