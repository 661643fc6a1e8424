package handler

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
)

// The version of Produce from which …
const (
	produceZstd       = 7  // … zstd may be sent (KIP-110)
	produceErrorText  = 8  // … errors carry a message and the failing records (KIP-467)
	produceTopicID    = 13 // … topics are named by id (KIP-516)
	produceLeaderHint = 10 // … a NOT_LEADER_OR_FOLLOWER names the leader (KIP-951)
)

// adminClientID may write to internal topics, as Kafka's own tools do (KafkaApis).
const adminClientID = "__admin_client"

// produce appends one batch to each partition of the request (broker side: ReplicaManager.appendRecords).
// With one replica an appended batch is below the high watermark at once, so acks=all waits for nothing.
func (h *Handler) produce(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ProduceRequest)
	resp := &produceAnswer{}
	resp.SetVersion(req.Version)
	p := produceCall{h: h, r: r, req: req, image: h.deps.Metadata.Image()}
	p.verifyTxn(ctx)
	failed := false
	resp.Topics = slices.Grow(resp.topic[:0], len(req.Topics))
	for i := range req.Topics {
		room := resp.partition[:0]
		if i > 0 {
			room = nil
		}
		t := p.topic(&req.Topics[i], room)
		for j := range t.Partitions {
			failed = failed || t.Partitions[j].ErrorCode != 0
			p.leaderHint(&resp.ProduceResponse, &t.Partitions[j])
		}
		resp.Topics = append(resp.Topics, t)
	}
	if req.Acks == 0 {
		// A closed connection is the only way to tell a client that does not listen.
		return wire.Reply{None: !failed, Close: failed}
	}
	return wire.Reply{Body: &resp.ProduceResponse}
}

// produceAnswer is a response with room for the one partition that most of them are about.
type produceAnswer struct {
	kmsg.ProduceResponse
	topic     [1]kmsg.ProduceResponseTopic
	partition [1]kmsg.ProduceResponseTopicPartition
}

// produceCall is one Produce request on its way.
type produceCall struct {
	h     *Handler
	r     *wire.Request
	req   *kmsg.ProduceRequest
	image *metadata.Image
	// hinted are the leaders whose addresses the answer has already.
	hinted map[int32]bool
	txn    produceTxn
}

// topic appends to the partitions of a topic; the answers about them go to room, as far as it reaches.
func (c *produceCall) topic(t *kmsg.ProduceRequestTopic, room []kmsg.ProduceResponseTopicPartition) kmsg.ProduceResponseTopic {
	out := kmsg.NewProduceResponseTopic()
	out.Topic, out.TopicID = t.Topic, t.TopicID
	name, id, unknown := c.resolve(t)
	out.Partitions = slices.Grow(room, len(t.Partitions))
	last := newLastNamed(t.Partitions)
	for i := range t.Partitions {
		if !last.counts(t.Partitions[i].Partition, i) {
			continue
		}
		out.Partitions = append(out.Partitions, c.partition(name, id, unknown, &t.Partitions[i]))
	}
	return out
}

// resolve finds a topic by what the version names it with. unknown is the error of partitions that do not exist.
func (c *produceCall) resolve(t *kmsg.ProduceRequestTopic) (name string, id record.UUID, unknown int16) {
	name, id, unknown = t.Topic, t.TopicID, kerr.UnknownTopicOrPartition.Code
	if c.r.Version >= produceTopicID {
		unknown = kerr.UnknownTopicID.Code
		if it := c.image.Topics.ByID(id); it != nil {
			name, unknown = it.Name, kerr.UnknownTopicOrPartition.Code
		}
	} else if it := c.image.Topics.ByName(name); it != nil {
		id = it.ID
	}
	return name, id, unknown
}

// lastNamed maps partition numbers to where a request names them last: Kafka collects it in a map, so that the
// last one counts. It is nil, which costs nothing, where no number can be named twice.
type lastNamed map[int32]int

func newLastNamed(ps []kmsg.ProduceRequestTopicPartition) lastNamed {
	if len(ps) < 2 {
		return nil
	}
	last := make(lastNamed, len(ps))
	for i := range ps {
		last[ps[i].Partition] = i
	}
	return last
}

// counts reports whether the partition named at i is not named again further on.
func (l lastNamed) counts(partition int32, i int) bool { return l == nil || l[partition] == i }

func (c *produceCall) partition(topic string, id record.UUID, unknown int16, p *kmsg.ProduceRequestTopicPartition) kmsg.ProduceResponseTopicPartition {
	out := kmsg.NewProduceResponseTopicPartition()
	out.Partition, out.BaseOffset = p.Partition, -1
	part, err := c.h.hosted(c.image, id, p.Partition)
	if errors.Is(err, replica.ErrUnknownPartition) {
		out.ErrorCode = unknown
		return out
	}
	batch, fault := soleBatch(p.Records, c.r.Version)
	switch {
	case fault != nil:
		out.ErrorCode = fault.code
		c.describe(&out, fault.text)
		return out
	case c.req.Acks < -1 || c.req.Acks > 1:
		out.ErrorCode = kerr.InvalidRequiredAcks.Code
		return out
	case c.h.deps.ReadOnly:
		e := controller.ReadOnly()
		out.ErrorCode = e.Code.Code
		c.describe(&out, e.Message)
		return out
	case internalTopic(topic) && c.r.ClientID != adminClientID:
		out.ErrorCode = kerr.InvalidTopicException.Code
		return out
	}
	if err == nil {
		err = c.txn.refused
	}
	if err == nil {
		err = c.append(part, batch, &out)
	}
	if err != nil {
		c.fail(&out, part, err)
		if errors.Is(err, replica.ErrNotLeader) {
			leader, epoch := presentLeader(c.image, part, id, p.Partition)
			out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = leader, int32(epoch)
		}
	}
	return out
}

func (c *produceCall) append(part *replica.Partition, batch record.Batch, out *kmsg.ProduceResponseTopicPartition) error {
	o := storage.AppendOptions{Origin: storage.Client}
	if batch.Header().IsTransactional() {
		var err error
		if o.VerificationGuard, err = c.guard(partitionKey{part.TopicID(), part.TopicPartition().Partition}); err != nil {
			return err
		}
	}
	if c.req.Acks == -1 {
		if err := part.CheckInSync(); err != nil {
			return err
		}
	}
	info, err := part.Append(batch, o)
	if err != nil {
		return err
	}
	out.BaseOffset = int64(info.FirstOffset)
	out.LogAppendTime = info.LogAppendTimeMs
	out.LogStartOffset = int64(info.LogStartOffset)
	return nil
}

// fail fills in an error. The log start goes with the errors that the log itself found, so that an
// idempotent producer can tell lost from expired records (KIP-360).
func (c *produceCall) fail(out *kmsg.ProduceResponseTopicPartition, part *replica.Partition, err error) {
	out.ErrorCode = produceCode(err)
	if errors.Is(err, errNotAdded) {
		c.describe(out, errNotAdded.Error())
	}
	var re *record.RecordsError
	if errors.As(err, &re) && len(re.Records) > 0 {
		c.describe(out, re.Message)
		if c.r.Version >= produceErrorText {
			for _, bad := range re.Records {
				e := kmsg.NewProduceResponseTopicPartitionErrorRecord()
				e.RelativeOffset = bad.Index
				if bad.Message != "" {
					e.ErrorMessage = &bad.Message
				}
				out.ErrorRecords = append(out.ErrorRecords, e)
			}
		}
	}
	if part != nil && part.Log() != nil && foundByLog(err) {
		out.LogStartOffset = int64(part.Log().LogStartOffset())
	}
	if out.ErrorCode == kerr.UnknownServerError.Code || out.ErrorCode == kerr.KafkaStorageError.Code {
		c.h.deps.Logger.Warn("produce failed", "client", c.r.Client.Addr, "client_id", c.r.ClientID, "partition", out.Partition, "err", err)
	}
}

func (c *produceCall) describe(out *kmsg.ProduceResponseTopicPartition, text string) {
	if text != "" && c.r.Version >= produceErrorText {
		out.ErrorMessage = &text
	}
}

// produceCode is the code of an error in the words of Produce.
func produceCode(err error) int16 {
	if errors.Is(err, errNoTransactionalID) {
		return kerr.TransactionalIDAuthorizationFailed.Code
	}
	return code(err)
}

// foundByLog reports whether an error was found by validation or by the producer's state, not before.
func foundByLog(err error) bool {
	for _, e := range []error{
		record.ErrInvalidRecord, record.ErrInvalidTimestamp, record.ErrDecompress, record.ErrUnsupportedCodec,
		producer.ErrOutOfOrderSequence, producer.ErrInvalidProducerEpoch, producer.ErrInvalidTxnState,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// leaderHint tells newer clients where the leader is.
func (c *produceCall) leaderHint(resp *kmsg.ProduceResponse, p *kmsg.ProduceResponseTopicPartition) {
	if c.r.Version < produceLeaderHint || p.CurrentLeader.LeaderID < 0 || c.hinted[p.CurrentLeader.LeaderID] {
		return
	}
	b := c.image.Brokers[p.CurrentLeader.LeaderID]
	host, port, ok := endpoint(b, c.r.Listener.Name)
	if !ok {
		return
	}
	n := kmsg.NewProduceResponseBroker()
	n.NodeID, n.Host, n.Port, n.Rack = p.CurrentLeader.LeaderID, host, port, b.Rack
	resp.Brokers = append(resp.Brokers, n)
	if c.hinted == nil {
		c.hinted = map[int32]bool{}
	}
	c.hinted[n.NodeID] = true
}

// batchFault is what is wrong with the shape of a partition's records.
type batchFault struct {
	code int16
	text string
}

// soleBatch returns the one batch that a partition of a Produce may carry (ProduceRequest.validateRecords).
// A cut batch behind it is dropped, as Kafka does. Null records, which Kafka never answers, are refused.
func soleBatch(records []byte, version int16) (record.Batch, *batchFault) {
	s := record.NewScanner(records)
	if !s.Next() {
		if err := s.Err(); err != nil {
			return nil, &batchFault{kerr.CorruptMessage.Code, err.Error()}
		}
		return nil, &batchFault{code: kerr.InvalidRecord.Code}
	}
	b := s.Batch()
	head := b.Header()
	switch {
	case head.Magic != 2:
		return nil, &batchFault{code: kerr.InvalidRecord.Code}
	case version < produceZstd && head.Codec() == record.Zstd:
		return nil, &batchFault{code: kerr.UnsupportedCompressionType.Code}
	case version < produceZstd && head.Codec() > record.Zstd:
		return nil, &batchFault{code: kerr.UnknownServerError.Code}
	case s.Next():
		return nil, &batchFault{code: kerr.InvalidRecord.Code}
	case s.Err() != nil:
		return nil, &batchFault{kerr.CorruptMessage.Code, s.Err().Error()}
	}
	return b, nil
}
