package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestMalformed holds the answers that Apache Kafka 4.4.0 gave to the same bytes: closed without a word, or an
// answer.
func TestMalformed(t *testing.T) {
	log := &logBuffer{}
	_, addr := start(t, Options{Handler: handlerFunc(plain), Logger: log.logger()})
	garbage := bytes.Repeat([]byte{0xde, 0xad, 0xbe, 0xef}, 30)
	for _, c := range []struct {
		name   string
		bytes  []byte
		closed bool
	}{
		{"length 0", []byte{0, 0, 0, 0}, true},
		{"length -1", []byte{0xff, 0xff, 0xff, 0xff}, true},
		{"100 MiB and one byte", []byte{6, 0x40, 0, 1, 0, 3, 0, 12}, true},
		{"2 GiB", []byte{0x7f, 0xff, 0xff, 0xff}, true},
		{"3 bytes", sized([]byte{0, 18, 0}), true},
		{"header without client id", sized([]byte{0, 18, 0, 0, 0, 0, 0, 1}), true},
		{"null client id", sized([]byte{0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}), false},
		{"empty client id", sized([]byte{0, 18, 0, 0, 0, 0, 0, 1, 0, 0}), false},
		{"client id longer than the frame", sized([]byte{0, 18, 0, 0, 0, 0, 0, 1, 0x7f, 0xff}), true},
		{"client id of length -2", sized([]byte{0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xfe}), false},
		{"client id that is not UTF-8", sized([]byte{0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 0xc3, 0x28}), false},
		{"trailing bytes", raw(3, 4, false, 0, 0, 0, 0, 0, 1, 2, 3), false},
		{"trailing bytes, flexible", raw(3, 12, true, 1, 0, 0, 0, 1, 2, 3), false},
		{"trailing bytes after ApiVersions v0", raw(18, 0, false, 1, 2, 3), false},
		{"empty body", raw(3, 12, true), true},
		{"unknown tag in the header", sized([]byte{0, 3, 0, 12, 0, 0, 0, 1, 0, 0, 1, 77, 1, 9, 1, 0, 0, 0}), false},
		{"null array", raw(19, 2, false, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0), true},
		{"negative version", raw(3, -1, false, make([]byte, 8)...), true},
		{"key -1", raw(-1, 0, false, make([]byte, 20)...), true},
		{"key 999", raw(999, 0, false, make([]byte, 20)...), true},
		{"key of the controller", raw(52, 0, false, make([]byte, 20)...), true},
		{"Produce v2", raw(0, 2, false, make([]byte, 40)...), true},
		{"Metadata v14", raw(3, 14, true, make([]byte, 40)...), true},
		{"garbage", garbage, true},
		{"TLS hello", append([]byte{0x16, 3, 1, 0, 0x60, 1, 0, 0, 0x5c, 3, 3}, make([]byte, 90)...), true},
		{"HTTP GET", []byte("GET / HTTP/1.1\r\nHost: broker\r\n\r\n"), true},
		{"line feeds", []byte("\n\n\n\n\n\n\n\n"), true},
	} {
		conn := dial(t, addr)
		conn.write(c.bytes)
		if c.closed {
			if !conn.closed() {
				t.Errorf("%s: still open", c.name)
			}
		} else if b, err := conn.read(); err != nil || len(b) < 4 || b[3] != 1 {
			t.Errorf("%s: %x, %v", c.name, b, err)
		}
		conn.Close()
	}
	c := dial(t, addr) // alive afterwards
	c.ask(kmsg.NewPtrApiVersionsRequest(), 4, 9)
}

// TestPartOfAFrame: Apache Kafka waits for the rest, and so does Samsa.
func TestPartOfAFrame(t *testing.T) {
	_, addr := start(t, Options{Handler: handlerFunc(plain)})
	c := dial(t, addr)
	req := kmsg.NewPtrMetadataRequest()
	b := encode(req, 12, 7)
	c.write(b[:10])
	c.write(b[10:])
	c.answer(req, 7)
}

// TestV01ApiVersionsAboveMax: any version of ApiVersions is answered: error 35 in the layout of v0, header v0, with
// the range of ApiVersions itself, whatever the body is (KIP-511). The connection stays usable.
func TestV01ApiVersionsAboveMax(t *testing.T) {
	_, addr := start(t, Options{Handler: handlerFunc(plain)})
	c := dial(t, addr)
	for _, b := range [][]byte{
		raw(18, 6, true, 8, 'a', 'n', 's', 'w', 'e', 'r', 's', 2, '1', 0),
		raw(18, 99, true, 0xff, 0xff, 0xff),
		raw(18, -1, false),
	} {
		c.write(b)
		req := kmsg.NewPtrApiVersionsRequest()
		resp := c.answer(req, 1).(*kmsg.ApiVersionsResponse)
		if resp.ErrorCode != 35 || len(resp.ApiKeys) != 1 {
			t.Fatalf("answer %+v", resp)
		}
		if k := resp.ApiKeys[0]; k.ApiKey != 18 || k.MinVersion != 0 || k.MaxVersion != 5 {
			t.Errorf("range %+v", k)
		}
	}
	c.write(encode(kmsg.NewPtrApiVersionsRequest(), 3, 2)) // header v0 for flexible versions too
	b, err := c.read()
	if err != nil {
		t.Fatal(err)
	}
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = 3
	if err := resp.ReadFrom(b[4:]); err != nil {
		t.Error(err)
	}
}

// TestV02LogNamesClientAndVersion: a client that is closed for its versions is named with all that helps to find it.
func TestV02LogNamesClientAndVersion(t *testing.T) {
	log := &logBuffer{}
	s, addr := start(t, Options{Handler: handlerFunc(plain), Logger: log.logger()})
	for range 5 {
		c := dial(t, addr)
		c.write(encode(kmsg.NewPtrFetchRequest(), 2, 1))
		if !c.closed() {
			t.Error("still open")
		}
	}
	for _, key := range []int16{998, 999} {
		c := dial(t, addr)
		c.write(raw(key, 7, false))
		if !c.closed() {
			t.Error("still open")
		}
	}
	text := log.String()
	for _, want := range []string{"api=Fetch", `api="key 998" version=7 served=none`, "version=2", "client_id=tester", "client=127.0.0.1:", "served=4-18"} {
		if !strings.Contains(text, want) {
			t.Errorf("log lacks %s: %s", want, text)
		}
	}
	if n := strings.Count(text, "api=Fetch"); n != 1 {
		t.Errorf("%d lines for five equal refusals", n)
	}
	if strings.Contains(text, "key 999") {
		t.Errorf("unknown keys can fill the log: %s", text)
	}
	if got := s.Stats().Invalid; got != 7 {
		t.Errorf("%d invalid connections counted", got)
	}
}

func TestOtherProtocolsAreNamedInTheLog(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  string
	}{{"GET / HTTP/1.1\r\n\r\n", "HTTP"}, {"\x16\x03\x01\x00\x60\x01\x00\x00", "TLS"}} {
		log := &logBuffer{}
		_, addr := start(t, Options{Handler: handlerFunc(plain), Logger: log.logger()})
		conn := dial(t, addr)
		conn.write([]byte(c.bytes))
		conn.closed()
		if !strings.Contains(log.String(), c.want) {
			t.Errorf("log lacks %s: %s", c.want, log)
		}
	}
}
