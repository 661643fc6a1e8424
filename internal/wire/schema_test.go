package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill sets every field of a request to something; depth bounds arrays in arrays.
func fill(r *rand.Rand, v reflect.Value, null bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name != "Version" && f.Name != "UnknownTags" {
				fill(r, v.Field(i), null)
			}
		}
	case reflect.Pointer:
		if null && r.IntN(2) == 0 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), null)
	case reflect.Slice:
		if null && r.IntN(3) == 0 {
			return
		}
		n := r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), null)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), null)
		}
	case reflect.String:
		v.SetString("näme"[:r.IntN(2)*5])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(r.IntN(200)))
	default:
		v.SetInt(int64(r.IntN(100)))
	}
}

// everyRequest calls f with each request type at each version.
func everyRequest(f func(req kmsg.Request)) {
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			continue
		}
		for version := int16(0); version <= req.MaxVersion(); version++ {
			req := kmsg.RequestForKey(key)
			req.SetVersion(version)
			f(req)
		}
	}
}

// TestSchemasAgreeWithKmsg: whatever kmsg encodes, the table walks over to its last byte.
func TestSchemasAgreeWithKmsg(t *testing.T) {
	ss := loadSchemas()
	r := rand.New(rand.NewPCG(1, 2))
	everyRequest(func(req kmsg.Request) {
		if ss.flexible(req.Key(), req.GetVersion()) != req.IsFlexible() {
			t.Errorf("%T v%d: flexible is %v in kmsg", req, req.GetVersion(), req.IsFlexible())
		}
		resp := req.ResponseKind()
		resp.SetVersion(req.GetVersion())
		if resp.IsFlexible() != req.IsFlexible() {
			t.Errorf("%T v%d: flexible as a request but not as a response", req, req.GetVersion())
		}
		for range 20 {
			version := req.GetVersion()
			fill(r, reflect.ValueOf(req).Elem(), true)
			req.SetVersion(version)
			body := req.AppendTo(nil)
			w := walker{src: body, version: version, flexible: req.IsFlexible()}
			w.structure(ss[req.Key()].fields)
			if w.err != nil || len(w.src) != 0 {
				t.Fatalf("%T v%d: %v, %d bytes left of %x", req, version, w.err, len(w.src), body)
			}
			got, err := ss.decode(header{key: req.Key(), version: version}, append(body, 1, 2, 3))
			if err != nil {
				t.Fatalf("%T v%d: %v", req, version, err)
			}
			if string(got.AppendTo(nil)) != string(body) {
				t.Fatalf("%T v%d: decoded to something else", req, version)
			}
		}
	})
}

// TestEveryCutIsRefused: a body without its last bytes is never taken for a whole one, and never panics.
func TestEveryCutIsRefused(t *testing.T) {
	ss := loadSchemas()
	r := rand.New(rand.NewPCG(3, 4))
	everyRequest(func(req kmsg.Request) {
		version := req.GetVersion()
		fill(r, reflect.ValueOf(req).Elem(), false)
		req.SetVersion(version)
		body := req.AppendTo(nil)
		for n := range body {
			if _, err := ss.decode(header{key: req.Key(), version: version}, body[:n]); err == nil {
				t.Fatalf("%T v%d: %d of %d bytes are enough", req, version, n, len(body))
			}
		}
	})
}

func TestWalkerRefuses(t *testing.T) {
	ss := loadSchemas()
	million := func(n int) []byte { // a compact array of n topics of one byte each, with that many bytes there
		b := walkerUvarint(uint32(n + 1))
		return append(b, make([]byte, n+10)...)
	}
	for _, c := range []struct {
		name         string
		key, version int16
		body         []byte
		want         error
	}{
		{"empty body", 3, 12, nil, errShort},
		{"body cut in a string", 3, 1, []byte{0, 0, 0, 1, 0, 9, 'a'}, errShort},
		{"array of 2^31-1", 3, 1, []byte{0x7f, 0xff, 0xff, 0xff}, errArray},
		{"array of -2 where null is allowed", 3, 1, []byte{0xff, 0xff, 0xff, 0xfe}, nil},
		{"array of -1 where null is not allowed", 3, 0, []byte{0xff, 0xff, 0xff, 0xff}, errNull},
		{"compact array of 2^31", 3, 12, []byte{0x80, 0x80, 0x80, 0x80, 8, 0, 0, 0}, errArray},
		{"varint of six bytes", 3, 12, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 1, 0, 0}, errVarint},
		{"null array", 19, 2, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0}, errNull},
		{"null compact array", 19, 7, []byte{0, 0, 0, 0, 1, 0, 0}, errNull},
		{"null string", 12, 0, []byte{0xff, 0xff, 0, 0, 0, 1, 0, 1, 'm'}, errNull},
		{"unknown tag", 3, 12, []byte{1, 0, 0, 1, 77, 1, 9}, nil},
		{"repeated tag", 3, 12, []byte{1, 0, 0, 2, 77, 1, 9, 77, 1, 8}, nil},
		{"tag longer than the body", 3, 12, []byte{1, 0, 0, 1, 77, 100, 9}, errShort},
		{"many tags claimed", 3, 12, []byte{1, 0, 0, 0xff, 0xff, 0xff, 0xff, 7}, errArray},
		{"boolean of 2", 3, 4, []byte{0, 0, 0, 0, 2}, nil},
		{"V-06: an array of 1,000,001", 74, 1, million(1_000_001), errArray},
		{"V-06: an array of 1,000,000", 74, 1, million(1_000_000), nil},
		{"unknown key", 4242, 0, nil, errNoCodec},
		{"version that kmsg has not", 3, 99, nil, errNoCodec},
	} {
		_, err := ss.decode(header{key: c.key, version: c.version}, c.body)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func walkerUvarint(v uint32) (b []byte) {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// TestBadTextIsReplaced: strings are valid UTF-8 behind the wire, as Java's decoder makes them.
func TestBadTextIsReplaced(t *testing.T) {
	req, err := loadSchemas().decode(header{key: 3, version: 4}, []byte{0, 0, 0, 2, 0, 2, 0xc3, 0x28, 0, 2, 'o', 'k', 0})
	if err != nil {
		t.Fatal(err)
	}
	topics := req.(*kmsg.MetadataRequest).Topics
	if got := *topics[0].Topic; got != "\uFFFD(" {
		t.Errorf("first topic is %q", got)
	}
	if got := *topics[1].Topic; got != "ok" {
		t.Errorf("second topic is %q", got)
	}
}

// TestDecodeIntoTheSame: what a request held before does not show in what is decoded into it.
func TestDecodeIntoTheSame(t *testing.T) {
	ss := loadSchemas()
	c := &conn{s: &Server{schemas: ss}}
	for version := int16(3); version <= 13; version++ {
		for _, topics := range []int{3, 1, 0, 2} {
			q := kmsg.NewPtrProduceRequest()
			q.Version, q.Acks = version, int16(topics)
			if topics == 3 {
				q.TransactionID = kmsg.StringPtr("a transaction")
			}
			for i := range topics {
				topic := kmsg.NewProduceRequestTopic()
				topic.Topic, topic.TopicID[0] = strings.Repeat("t", i+1), byte(i)
				for n := range topics - i {
					p := kmsg.NewProduceRequestTopicPartition()
					p.Partition, p.Records = int32(n), []byte{byte(n), byte(topics)}
					topic.Partitions = append(topic.Partitions, p)
				}
				q.Topics = append(q.Topics, topic)
			}
			h, body := header{key: produceKey, version: version}, q.AppendTo(nil)
			fresh, err := ss.decode(h, body)
			if err != nil {
				t.Fatal(err)
			}
			used, err := ss.decodeInto(c.requestFor(produceKey), h, body)
			if err != nil || !bytes.Equal(used.AppendTo(nil), fresh.AppendTo(nil)) {
				t.Errorf("version %d, %d topics: %v, %+v, want %+v", version, topics, err, used, fresh)
			}
		}
	}
}
