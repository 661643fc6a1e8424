package controller

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Kinds of elections (KIP-460).
const (
	preferredElection int8 = 0
	uncleanElection   int8 = 1
)

// ElectLeaders has leaders elected: the preferred replica, or, uncleanly, any replica where there is no leader. Without
// topics it looks at all partitions and names those for which there was something to do.
func (c *Controller) ElectLeaders(req *kmsg.ElectLeadersRequest) *kmsg.ElectLeadersResponse {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	e := &election{c: c, kind: req.ElectionType}
	var known *Error
	if e.kind != preferredElection && e.kind != uncleanElection {
		known = refuse(kerr.InvalidRequest, "there is no election type %d", e.kind)
		resp.ErrorCode = known.code()
	}
	_, err := c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		resp.Topics = e.topics(i, req.Topics, known)
		return e.records, nil
	})
	if err != nil {
		failed := asError(err)
		resp.ErrorCode = failed.code()
		for t := range resp.Topics {
			for p := range resp.Topics[t].Partitions {
				at := &resp.Topics[t].Partitions[p]
				at.ErrorCode, at.ErrorMessage = failed.code(), failed.message()
			}
		}
	}
	return resp
}

// election is one request on its way.
type election struct {
	c    *Controller
	kind int8
	// records elect; done are the partitions that they are about.
	records []stored.Message
	done    map[partitionID]bool
}

func (e *election) topics(i *metadata.Image, asked []kmsg.ElectLeadersRequestTopic, known *Error) []kmsg.ElectLeadersResponseTopic {
	e.records, e.done = nil, map[partitionID]bool{}
	if asked == nil && known == nil {
		return e.all(i)
	}
	var out []kmsg.ElectLeadersResponseTopic
	for _, t := range asked {
		r := kmsg.NewElectLeadersResponseTopic()
		r.Topic = t.Topic
		for _, n := range t.Partitions {
			err := known
			if err == nil {
				err = e.partition(i, i.Topics.ByName(t.Topic), t.Topic, n)
			}
			r.Partitions = append(r.Partitions, electionResult(n, err))
		}
		out = append(out, r)
	}
	return out
}

// all holds the election for every partition; topics are listed even if nothing was to be done in them, as in Kafka.
func (e *election) all(i *metadata.Image) []kmsg.ElectLeadersResponseTopic {
	var out []kmsg.ElectLeadersResponseTopic
	for t := range i.Topics.All() {
		r := kmsg.NewElectLeadersResponseTopic()
		r.Topic = t.Name
		for n := range t.Partitions {
			err := e.partition(i, t, t.Name, int32(n))
			if err == nil || err.Code != kerr.ElectionNotNeeded {
				r.Partitions = append(r.Partitions, electionResult(int32(n), err))
			}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b kmsg.ElectLeadersResponseTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	return out
}

func electionResult(n int32, err *Error) kmsg.ElectLeadersResponseTopicPartition {
	r := kmsg.NewElectLeadersResponseTopicPartition()
	r.Partition, r.ErrorCode, r.ErrorMessage = n, err.code(), err.message()
	return r
}

// partition elects if it is asked for and possible. Only this node can lead.
func (e *election) partition(i *metadata.Image, t *metadata.Topic, name string, n int32) *Error {
	if t == nil || n < 0 || int(n) >= len(t.Partitions) {
		return refuse(kerr.UnknownTopicOrPartition, "there is no partition %s-%d", name, n)
	}
	p, key := t.Partitions[n], partitionID{t.ID, n}
	preferred := e.kind == preferredElection
	switch {
	case e.done[key]:
		return nil
	case preferred && len(p.Replicas) > 0 && p.Leader == p.Replicas[0], !preferred && p.Leader >= 0:
		return refuse(kerr.ElectionNotNeeded, "the leader of %s-%d is %d", name, n, p.Leader)
	case len(e.records) == maxRecordsPerOperation:
		return refuse(kerr.PolicyViolation, "one request can elect %d leaders", maxRecordsPerOperation)
	}
	node := e.c.o.NodeID
	may := isActive(i, node) && slices.Contains(p.Replicas, node) && (!preferred || p.Replicas[0] == node)
	if may {
		if m := e.c.electFor(i, t, n, nil, !preferred || e.c.uncleanElection(i, t)); m != nil {
			e.done[key], e.records = true, append(e.records, m)
			return nil
		}
	}
	if preferred {
		return refuse(kerr.PreferredLeaderNotAvailable, "the preferred replica of %s-%d cannot lead", name, n)
	}
	return refuse(kerr.EligibleLeadersNotAvailable, "no replica of %s-%d can lead", name, n)
}
