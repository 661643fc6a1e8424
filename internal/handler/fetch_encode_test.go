package handler

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/epoch"
	"github.com/samsalog/samsa/storage/index"
	"github.com/samsalog/samsa/vfs"
)

// TestFetchEncoderMatchesGenerated holds the hand-written encoder against kmsg's for every version.
func TestFetchEncoderMatchesGenerated(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 64)
	file := memFile(t, content)
	for v := int16(4); v <= 18; v++ {
		t.Run(fmt.Sprint("v", v), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a := drawAnswer(t, v, file)
				want := generated(v, a, content)
				got := flatten(t, encodeFetch(v, a))
				if !bytes.Equal(got, want) {
					t.Fatalf("version %d:\n got %x\nwant %x", v, got, want)
				}
			})
		})
	}
}

func memFile(t *testing.T, content []byte) vfs.File {
	f, err := vfs.NewMem().OpenFile("records", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

func drawAnswer(t *rapid.T, v int16, file vfs.File) *fetchAnswer {
	small := rapid.Int64Range(-1, 1<<40)
	a := &fetchAnswer{err: rapid.SampledFrom([]int16{0, 70, 71}).Draw(t, "err"), sessionID: rapid.Int32().Draw(t, "session")}
	for i := range rapid.IntRange(0, 4).Draw(t, "partitions") {
		topic := rapid.SampledFrom([]string{"a", "topic-b"}).Draw(t, "topic")
		r := &fetchResult{
			part: &fetchPart{topic: topic, id: record.UUID{byte(len(topic))}, partition: int32(i)},
			code: rapid.SampledFrom([]int16{0, 0, 0, 1, 6}).Draw(t, "code"), leader: -1, epoch: -1,
		}
		r.unread = rapid.Bool().Draw(t, "unread")
		if rapid.Bool().Draw(t, "leader") {
			r.leader, r.epoch = rapid.Int32Range(0, 9).Draw(t, "leader id"), record.LeaderEpoch(rapid.Int32().Draw(t, "epoch"))
		}
		info := storage.ReadInfo{HighWatermark: record.Offset(small.Draw(t, "hw")), LastStableOffset: record.Offset(small.Draw(t, "lso")), LogStartOffset: record.Offset(small.Draw(t, "start"))}
		if rapid.Bool().Draw(t, "committed") {
			info.Aborted = []index.AbortedTxn{}
			for range rapid.IntRange(0, 2).Draw(t, "aborted") {
				info.Aborted = append(info.Aborted, index.AbortedTxn{ProducerID: record.ProducerID(small.Draw(t, "pid")), FirstOffset: record.Offset(small.Draw(t, "first"))})
			}
		}
		n := rapid.SampledFrom([]int{0, 1, 126, 127, 128, 600}).Draw(t, "bytes")
		info.Region = vfs.NewRegion(file, int64(i), n, nil)
		r.fetched = replica.Fetched{ReadInfo: info}
		if rapid.Bool().Draw(t, "diverging") {
			r.fetched.Diverging = &epoch.Entry{Epoch: 3, StartOffset: record.Offset(small.Draw(t, "end"))}
		}
		a.results = append(a.results, r)
	}
	if v >= fetchEndpoints && rapid.Bool().Draw(t, "endpoints") { // older answers never carry them
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port = 1, "host", 9092
		a.endpoints = []kmsg.FetchResponseBroker{b}
	}
	return a
}

// generated encodes the same answer with kmsg.
func generated(v int16, a *fetchAnswer, content []byte) []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ErrorCode, resp.SessionID, resp.Brokers = v, a.err, a.sessionID, a.endpoints
	for _, group := range groupByTopic(a.results) {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = group[0].part.topic, group[0].part.id
		for _, r := range group {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.ErrorCode = r.part.partition, r.code
			rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = -1, -1, -1
			if r.code == 0 {
				rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = int64(r.fetched.HighWatermark), int64(r.fetched.LastStableOffset), int64(r.fetched.LogStartOffset)
			}
			if r.fetched.Aborted != nil || r.unread {
				rp.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			}
			for _, x := range r.fetched.Aborted {
				ra := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
				ra.ProducerID, ra.FirstOffset = int64(x.ProducerID), int64(x.FirstOffset)
				rp.AbortedTransactions = append(rp.AbortedTransactions, ra)
			}
			if d := r.fetched.Diverging; d != nil {
				rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = int32(d.Epoch), int64(d.StartOffset)
			}
			if r.leader >= 0 {
				rp.CurrentLeader.LeaderID, rp.CurrentLeader.LeaderEpoch = r.leader, int32(r.epoch)
			}
			at := r.fetched.Region.Offset
			rp.RecordBatches = append([]byte{}, content[at:at+int64(r.fetched.Region.Length)]...)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp.AppendTo(nil)
}

func flatten(t *rapid.T, pieces []wire.Piece) []byte {
	var out []byte
	for _, p := range pieces {
		out = append(out, p.Bytes...)
		b := make([]byte, p.Region.Length)
		if err := p.Region.ReadInto(b); err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}
