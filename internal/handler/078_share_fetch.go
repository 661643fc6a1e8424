package handler

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/internal/share"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
)

// shareRenew is the version of ShareFetch and ShareAcknowledge from which locks can be renewed (KIP-1222).
const shareRenew = 2

// shareFetch hands records to a member of a share group, after it took in the acknowledgements that came along. The answer
// waits for both: until there are records or MaxWaitMillis is over, and until the acknowledgements are persisted.
func (h *Handler) shareFetch(ctx context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ShareFetchRequest)
	a := &shareFetchAnswer{}
	if a.err = code(h.shareFetchAllowed(r.Version, req)); a.err == 0 {
		a.err = code(h.shareFetchSession(ctx, r, req, a))
	}
	return wire.Reply{Pieces: encodeShareFetch(r.Version, a)}
}

// shareFetchAllowed tests a request as far as that is possible by itself.
func (h *Handler) shareFetchAllowed(version int16, req *kmsg.ShareFetchRequest) error {
	if err := h.shareAllowed(req.GroupID, req.MemberID); err != nil {
		return err
	}
	if version >= shareRenew && req.IsRenewAck && (req.MaxBytes != 0 || req.MinBytes != 0 || req.MaxRecords != 0 || req.MaxWaitMillis != 0) {
		return kerr.InvalidRequest // what renews does not fetch
	}
	if m := window.Mode(req.ShareAcquireMode); m != window.BatchOptimized && m != window.RecordLimit {
		return kerr.UnknownServerError
	}
	return nil
}

// longestMemberID is what Kafka accepts: a UUID in text.
const longestMemberID = 36

func (h *Handler) shareAllowed(group, member *string) error {
	switch {
	case h.deps.Metadata.Image().Features[metadata.ShareVersionFeature] < 1:
		return kerr.UnsupportedVersion
	case group == nil || member == nil || *member == "" || len(*member) > longestMemberID:
		return kerr.InvalidRequest
	}
	return nil
}

// shareFetchSession serves a request within its session.
func (h *Handler) shareFetchSession(ctx context.Context, r *wire.Request, req *kmsg.ShareFetchRequest, a *shareFetchAnswer) error {
	group, member := *req.GroupID, *req.MemberID
	add, acks := shareFetchParts(req)
	parts, err := h.deps.Share.Session(share.SessionRequest{
		Group: group, Member: member, Epoch: req.ShareSessionEpoch, Add: add, Forget: shareForgotten(req), Acknowledges: len(acks) > 0, Owner: r.Client,
	})
	if err != nil {
		return err
	}
	s := &shareCall{h: h, r: r, image: h.deps.Metadata.Image(), group: group, member: member, renews: r.Version >= shareRenew && req.IsRenewAck}
	outcomes := s.acknowledge(acks)
	if req.ShareSessionEpoch == share.FinalEpoch {
		s.settle(ctx, outcomes)
		s.close(ctx)
	} else {
		a.results = h.deps.Share.Fetch(ctx, s.fetchRequest(ctx, req, parts))
		s.settle(ctx, outcomes)
	}
	a.image, a.listener, a.acks = s.image, r.Listener.Name, outcomes
	a.lock = h.deps.Share.LockDuration(group)
	a.incremental = req.ShareSessionEpoch != share.InitialEpoch
	return nil
}

// shareFetchParts lists the partitions that a request names, and its acknowledgements.
func shareFetchParts(req *kmsg.ShareFetchRequest) ([]share.Part, []*shareAcks) {
	var parts []share.Part
	var acks []*shareAcks
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := share.Part{Topic: t.TopicID, Partition: t.Partitions[j].Partition}
			parts = append(parts, p)
			if batches := t.Partitions[j].AcknowledgementBatches; len(batches) > 0 {
				a := &shareAcks{part: p}
				for _, b := range batches {
					a.add(b.FirstOffset, b.LastOffset, b.AcknowledgeTypes)
				}
				acks = append(acks, a)
			}
		}
	}
	return parts, acks
}

func shareForgotten(req *kmsg.ShareFetchRequest) []share.Part {
	var parts []share.Part
	for _, t := range req.ForgottenTopicsData {
		for _, n := range t.Partitions {
			parts = append(parts, share.Part{Topic: t.TopicID, Partition: n})
		}
	}
	return parts
}

func (s *shareCall) fetchRequest(ctx context.Context, req *kmsg.ShareFetchRequest, parts []share.Part) share.FetchRequest {
	return share.FetchRequest{
		Group: s.group, Member: s.member, Parts: parts, Find: s.find, Epoch: req.ShareSessionEpoch,
		MinBytes: int(req.MinBytes), MaxBytes: min(int(req.MaxBytes), s.h.deps.Config().Int("fetch.max.bytes")),
		MaxWait: time.Duration(req.MaxWaitMillis) * time.Millisecond, MaxRecords: int(req.MaxRecords), BatchSize: int(req.BatchSize),
		Mode: window.Mode(req.ShareAcquireMode),
		Wait: func(done <-chan struct{}, timeout time.Duration) bool { return s.r.Wait(ctx, done, timeout) },
	}
}

// shareCall is a ShareFetch or ShareAcknowledge on its way.
type shareCall struct {
	h             *Handler
	r             *wire.Request
	image         *metadata.Image
	group, member string
	renews        bool
}

// find looks a partition up by the topic id. Where that fails, the image of now decides: the request may have waited.
func (s *shareCall) find(p share.Part) (*replica.Partition, error) {
	leader, err := s.h.hosted(s.image, p.Topic, p.Partition)
	if err == nil {
		return leader, nil
	}
	s.image = s.h.deps.Metadata.Image()
	if s.image.Topics.ByID(p.Topic) == nil {
		return nil, kerr.UnknownTopicID
	}
	return s.h.hosted(s.image, p.Topic, p.Partition)
}

// shareAcks are the acknowledgements of one partition and what came of them.
type shareAcks struct {
	part    share.Part
	batches []window.Ack
	outcome *share.Outcome
	code    int16
	// explained says that Kafka gives a text with the code: its refusals of a request's form have none.
	explained bool
}

func (a *shareAcks) add(first, last int64, types []int8) {
	a.batches = append(a.batches, window.Ack{Span: window.Span{First: record.Offset(first), Last: record.Offset(last)}, Types: types})
}

// wellFormed tests ranges and types (KafkaApis.validateAcknowledgementBatches).
func (a *shareAcks) wellFormed(renews bool) bool {
	most := window.Reject
	if renews {
		most = window.Renew
	}
	end := record.Offset(-1)
	for _, b := range a.batches {
		n := len(b.Types)
		if b.First > b.Last || b.First < end || n == 0 || n > 1 && uint64(b.Last-b.First) != uint64(n-1) {
			return false
		}
		for _, t := range b.Types {
			if window.Type(t) < window.Gap || window.Type(t) > most {
				return false
			}
		}
		end = b.Last
	}
	return true
}

// acknowledge begins all acknowledgements.
func (s *shareCall) acknowledge(acks []*shareAcks) []*shareAcks {
	for _, a := range acks {
		_, err := s.find(a.part)
		switch {
		case err != nil && code(err) != kerr.NotLeaderForPartition.Code:
			a.code = code(err)
		case !a.wellFormed(s.renews):
			a.code = kerr.InvalidRequest.Code
		case len(a.batches) > 0:
			a.outcome = s.h.deps.Share.Acknowledge(share.Key{Group: s.group, Topic: a.part.Topic, Partition: a.part.Partition}, s.member, a.batches)
		}
	}
	return acks
}

// persistTimeout bounds the wait for the persister, which has a time limit of its own that is shorter.
const persistTimeout = time.Minute

// settle waits until all outcomes stand. Where one does not, the client has gone or the node stops.
func (s *shareCall) settle(ctx context.Context, acks []*shareAcks) {
	for _, a := range acks {
		if a.outcome == nil {
			continue
		}
		if !s.r.Wait(ctx, a.outcome.Done(), persistTimeout) {
			a.code, a.explained = kerr.CoordinatorNotAvailable.Code, true
			continue
		}
		if err := a.outcome.Err(); err != nil {
			a.code, a.explained = code(err), true
		}
	}
}

// close ends the session and gives back what the member has.
func (s *shareCall) close(ctx context.Context) {
	for _, o := range s.h.deps.Share.CloseSession(s.group, s.member) {
		s.r.Wait(ctx, o.Done(), persistTimeout)
	}
}

// shareText is the text that comes with a code.
func shareText(code int16) *string {
	err := kerr.TypedErrorForCode(code)
	if err == nil {
		return nil
	}
	text := err.Description
	return &text
}
