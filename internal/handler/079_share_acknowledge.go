package handler

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/share"
	"github.com/samsalog/samsa/internal/wire"
)

// shareAcknowledge takes in what a member says of records that it acquired, and answers when that is persisted.
func (h *Handler) shareAcknowledge(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ShareAcknowledgeRequest)
	resp := req.ResponseKind().(*kmsg.ShareAcknowledgeResponse)
	err := h.shareAllowed(req.GroupID, req.MemberID)
	if err == nil {
		err = h.deps.Share.AcknowledgeSession(*req.GroupID, *req.MemberID, req.ShareSessionEpoch)
	}
	if err != nil {
		resp.ErrorCode = code(err)
		return wire.Reply{Body: resp}
	}
	s := &shareCall{h: h, r: r, image: h.deps.Metadata.Image(), group: *req.GroupID, member: *req.MemberID, renews: r.Version >= shareRenew && req.IsRenewAck}
	acks := s.acknowledge(shareAcknowledgements(req))
	s.settle(ctx, acks)
	if req.ShareSessionEpoch == share.FinalEpoch {
		s.close(ctx)
	}
	resp.AcquisitionLockTimeoutMillis = int32(h.deps.Share.LockDuration(s.group).Milliseconds())
	e := shareLeaders{image: s.image, listener: r.Listener.Name}
	for i, a := range acks {
		if i == 0 || acks[i-1].part.Topic != a.part.Topic {
			t := kmsg.NewShareAcknowledgeResponseTopic()
			t.TopicID = a.part.Topic
			resp.Topics = append(resp.Topics, t)
		}
		t := &resp.Topics[len(resp.Topics)-1]
		p := kmsg.NewShareAcknowledgeResponseTopicPartition()
		p.Partition, p.ErrorCode = a.part.Partition, a.code
		if a.explained {
			p.ErrorMessage = shareText(a.code)
		}
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = e.leader(a.part, a.code)
		t.Partitions = append(t.Partitions, p)
	}
	for _, b := range e.brokers {
		n := kmsg.NewShareAcknowledgeResponseNodeEndpoint()
		n.NodeID, n.Host, n.Port, n.Rack = b.NodeID, b.Host, b.Port, b.Rack
		resp.NodeEndpoints = append(resp.NodeEndpoints, n)
	}
	return wire.Reply{Body: resp}
}

func shareAcknowledgements(req *kmsg.ShareAcknowledgeRequest) []*shareAcks {
	var acks []*shareAcks
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			a := &shareAcks{part: share.Part{Topic: t.TopicID, Partition: t.Partitions[j].Partition}}
			for _, b := range t.Partitions[j].AcknowledgementBatches {
				a.add(b.FirstOffset, b.LastOffset, b.AcknowledgeTypes)
			}
			acks = append(acks, a)
		}
	}
	return acks
}
