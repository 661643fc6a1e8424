package wire

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/vfs"
)

// BenchmarkRegions compares the ways of sending a region over loopback, with requests always waiting. Look at
// cpu-us/op, the time of both ends together, and repeat interleaved (-count): rates over loopback on two cores say
// more about the client.
func BenchmarkRegions(b *testing.B) {
	file, _ := regionFile(b, 8<<20)
	for _, size := range []int{4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20} {
		for _, mode := range []RegionMode{RegionsCopy, RegionsSendfile} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, [...]string{"auto", "copy", "sendfile"}[mode]), func(b *testing.B) {
				_, addr := start(b, Options{Send: Send{Regions: mode}, Handler: handlerFunc(func(_ context.Context, r *Request) Reply {
					at := int64(r.CorrelationID) * int64(size) % (4 << 20)
					return Reply{Pieces: []Piece{{Bytes: make([]byte, 80), Region: vfs.NewRegion(file, at, size, nil)}}}
				})})
				c := dial(b, addr)
				b.SetBytes(int64(size))
				go func() {
					req := kmsg.NewPtrFetchRequest()
					for i := range b.N {
						c.Write(encode(req, 4, int32(i)))
					}
				}()
				frame := make([]byte, 4+4+80+size)
				b.ResetTimer()
				from := cpuTime()
				for range b.N {
					if _, err := io.ReadFull(c, frame); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((cpuTime()-from).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}

// BenchmarkRoundTrip is a small request and its reply, one at a time and pipelined.
func BenchmarkRoundTrip(b *testing.B) {
	for _, depth := range []int{1, 16} {
		b.Run(fmt.Sprintf("depth%d", depth), func(b *testing.B) {
			_, addr := start(b, Options{Handler: handlerFunc(plain)})
			c := dial(b, addr)
			req := kmsg.NewPtrHeartbeatRequest()
			var batch []byte
			for i := range depth {
				batch = append(batch, encode(req, 4, int32(i))...)
			}
			reply := make([]byte, 4+5+7)
			b.ReportAllocs()
			for i := 0; i < b.N; i += depth {
				c.write(batch)
				for range depth {
					if _, err := io.ReadFull(c, reply); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkDecode is the check and decoding of a Produce request with one partition; the size of its records does
// not matter.
func BenchmarkDecode(b *testing.B) {
	req := kmsg.NewPtrProduceRequest()
	topic, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	topic.Topic, p.Records = "orders", make([]byte, 16<<10)
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	req.SetVersion(9)
	body := req.AppendTo(nil)
	ss := loadSchemas()
	b.ReportAllocs()
	for range b.N {
		if _, err := ss.decode(header{version: 9}, body); err != nil {
			b.Fatal(err)
		}
	}
}
