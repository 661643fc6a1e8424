package samsa_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// deadLetterCase is one group on one topic with one dead-letter queue.
type deadLetterCase struct {
	name string
	// queue are configs of the queue's topic, of two partitions; nil for a topic that does not exist.
	queue map[string]string
	// queueName is dlq.NAME unless said otherwise.
	queueName string
	group     []string
	records   []*kgo.Record
	// decide says what is done with a record at a delivery; none is to keep it.
	decide func(*kgo.Record) kgo.AckStatus
	codec  kgo.CompressionCodec
	// leave lets the member leave once it has got so many records; hold has each delivery go to another member, who keeps it.
	leave int
	hold  bool
	// load has the state of share partition 0 say that 0 and 1 are on their way after one delivery, and 2 after five.
	load bool
	// configs tells the settings that the queue has of its own.
	configs bool
	// here is what comes of it where that is not as in Kafka.
	here string
}

const keep = kgo.AckStatus(0)

func reject(*kgo.Record) kgo.AckStatus { return kgo.AckReject }

func enabled(more ...string) map[string]string {
	c := map[string]string{"errors.deadletterqueue.group.enable": "true"}
	for _, m := range more {
		k, v, _ := strings.Cut(m, "=")
		c[k] = v
	}
	return c
}

// What comes into queues here and not in Kafka, which gives up all that was rejected together when one of it is refused, and
// copies nothing of a compressed batch that is larger than the queue's batches.
const (
	onlyRefusedAreLost = `  2 partitions
  partition 0 key "" value "" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="3" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "k" value "v" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="0" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "no value" value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="2" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "null header" value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="4" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."`
	noCopyOfLarge = `  2 partitions
  partition 0 key "k0" value "0000000000" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="0" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key "k0" value "0000000000" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="3" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="1" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="2" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."`
	noCopyFromLarge = `  2 partitions
  partition 0 key "k0" value "0000000000" at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="0" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="1" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="2" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."
  partition 0 key null value null at now (type 0) __dlq.errors.topic="dl-NAME" __dlq.errors.partition="0" __dlq.errors.offset="3" __dlq.errors.group="dl-NAME" __dlq.errors.delivery.count="1" __dlq.errors.message="Offset rejected by client."`
)

// numbered are n records of a partition whose values have a length.
func numbered(n int, partition int32, length int) []*kgo.Record {
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Partition: partition, Key: fmt.Append(nil, "k", i), Value: []byte(strings.Repeat(fmt.Sprint(i), length))})
	}
	return rs
}

func deadLetterCases() []deadLetterCase {
	old := time.UnixMilli(1577836800000)
	h := func(kv ...string) []kgo.RecordHeader {
		var hs []kgo.RecordHeader
		for i := 0; i < len(kv); i += 2 {
			hs = append(hs, kgo.RecordHeader{Key: kv[i], Value: []byte(kv[i+1])})
		}
		return hs
	}
	full := []*kgo.Record{
		{Key: []byte("k"), Value: []byte("v"), Headers: h("a", "1", "a", "2", "__dlq.errors.group", "mine"), Timestamp: old},
		{Value: []byte("no key"), Timestamp: old}, {Key: []byte("no value"), Timestamp: old}, {Key: []byte{}, Value: []byte{}, Timestamp: old},
		{Key: []byte("null header"), Headers: []kgo.RecordHeader{{Key: "n"}}, Timestamp: old},
	}
	return []deadLetterCase{
		{name: "plain", queue: enabled(), group: []string{"share.delivery.count.limit=2"},
			records: slices.Concat(numbered(3, 0, 1), numbered(1, 1, 1), numbered(1, 2, 1)),
			decide: func(r *kgo.Record) kgo.AckStatus {
				if r.Partition == 0 {
					return []kgo.AckStatus{kgo.AckReject, kgo.AckRelease, kgo.AckAccept}[r.Offset]
				}
				return kgo.AckReject
			}},
		{name: "copied", queue: enabled(), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: full, decide: reject},
		{name: "compressed", queue: enabled(), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: full, decide: reject, codec: kgo.GzipCompression()},
		{name: "missing", records: numbered(2, 0, 1), decide: reject},
		{name: "closed", queue: map[string]string{}, records: numbered(2, 0, 1), decide: reject},
		{name: "misnamed", queue: enabled(), queueName: "misnamed-letters", records: numbered(2, 0, 1), decide: reject},
		{name: "stamped", queue: enabled("message.timestamp.type=LogAppendTime"), records: numbered(1, 0, 1), decide: reject},
		{name: "compacted", queue: enabled("cleanup.policy=compact"), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: full, decide: reject,
			here: onlyRefusedAreLost},
		{name: "small", queue: enabled("max.message.bytes=700"), group: []string{"errors.deadletterqueue.copy.record.enable=true"}, records: numbered(5, 0, 100), decide: reject},
		{name: "too-large", queue: enabled("max.message.bytes=700"), group: []string{"errors.deadletterqueue.copy.record.enable=true"},
			records: slices.Concat(numbered(1, 0, 10), numbered(1, 0, 650), numbered(1, 0, 800), numbered(1, 0, 10)), decide: reject,
			here: noCopyOfLarge},
		{name: "too-large-compressed", queue: enabled("max.message.bytes=700"), group: []string{"errors.deadletterqueue.copy.record.enable=true"},
			records: slices.Concat(numbered(1, 0, 10), numbered(1, 0, 650), numbered(1, 0, 800), numbered(1, 0, 10)), decide: reject, codec: kgo.GzipCompression(),
			here: noCopyFromLarge},
		{name: "tiny", queue: enabled("max.message.bytes=100"), records: numbered(2, 0, 10), decide: reject},
		{name: "run-out", queue: enabled(), group: []string{"share.delivery.count.limit=2", "share.record.lock.duration.ms=1000"}, records: numbered(1, 0, 1), hold: true,
			decide: func(*kgo.Record) kgo.AckStatus { return keep }},
		{name: "left", queue: enabled(), group: []string{"share.delivery.count.limit=2"}, records: numbered(1, 0, 1), leave: 2,
			decide: func(r *kgo.Record) kgo.AckStatus {
				if r.DeliveryCount() == 1 {
					return kgo.AckRelease
				}
				return keep
			}},
	}
}
