package handler

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/share"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// TestShareFetchEncoderMatchesGenerated reads what the hand-written encoder wrote with kmsg's decoder, and lets its encoder
// write it again.
func TestShareFetchEncoderMatchesGenerated(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 64)
	file := memFile(t, content)
	topic, rack := record.UUID{0: 5}, "r"
	image := &metadata.Image{Brokers: map[int32]*metadata.Broker{3: {Rack: &rack, Endpoints: []metadata.Endpoint{{Name: "L", Host: "host", Port: 9}}}}}
	rapid.Check(t, func(t *rapid.T) {
		a := &shareFetchAnswer{lock: 30 * time.Second, image: image, listener: "L", incremental: rapid.Bool().Draw(t, "incremental")}
		want := map[share.Part]int{}
		for i := range rapid.IntRange(0, 5).Draw(t, "partitions") {
			r := share.FetchResult{Part: share.Part{Topic: topic, Partition: int32(i)}, Read: rapid.Bool().Draw(t, "read")}
			if rapid.Bool().Draw(t, "other topic") {
				r.Part.Topic = record.UUID{0: 6}
			}
			switch rapid.IntRange(0, 3).Draw(t, "result") {
			case 0:
				r.Err = kerr.UnknownTopicID
			case 1:
				n := rapid.IntRange(1, 600).Draw(t, "bytes")
				r.Region = vfs.NewRegion(file, 7, n, nil)
				r.Acquired = []window.AcquiredRecords{{Span: window.Span{First: 3, Last: 9}, Count: 2}, {Span: window.Span{First: 12, Last: 12}, Count: 1}}
				want[r.Part] = n
			}
			if rapid.Bool().Draw(t, "acknowledged") {
				a.acks = append(a.acks, &shareAcks{part: r.Part, code: kerr.InvalidRecordState.Code, explained: true})
			}
			a.results = append(a.results, r)
		}
		got := flatten(t, encodeShareFetch(2, a))
		resp := kmsg.NewPtrShareFetchResponse()
		resp.Version = 2
		if err := resp.ReadFrom(got); err != nil {
			t.Fatal(err)
		}
		if again := resp.AppendTo(nil); !bytes.Equal(again, got) || resp.AcquisitionLockTimeoutMillis != 30000 {
			t.Fatalf("wrote %x, again %x", got, again)
		}
		seen := map[share.Part]bool{}
		for _, tp := range resp.Topics {
			for _, p := range tp.Partitions {
				part := share.Part{Topic: tp.TopicID, Partition: p.Partition}
				seen[part] = true
				if !bytes.Equal(p.Records, content[7:7+want[part]]) || (len(p.AcquiredRecords) > 0) != (want[part] > 0) {
					t.Fatalf("%v: %d bytes, %d wanted; acquired %v", part, len(p.Records), want[part], p.AcquiredRecords)
				}
			}
		}
		for _, k := range a.acks {
			if !seen[k.part] {
				t.Fatal("no answer for", k.part)
			}
		}
		for _, r := range a.results {
			if !seen[r.Part] && (!a.incremental && r.Read || r.Err != nil || len(r.Acquired) > 0) {
				t.Fatal("not told of", r.Part)
			}
		}
	})
}
