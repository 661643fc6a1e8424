package handler

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
	"github.com/samsalog/samsa/record"
)

// The version of Metadata from which …
const (
	metadataNone          = 1  // … an empty list of topics means none and null means all
	metadataAutoCreate    = 4  // … the client says whether a topic may be created
	metadataListenerError = 6  // … LISTENER_NOT_FOUND exists
	metadataOperations    = 8  // … authorized operations can be asked for
	metadataNoCluster     = 11 // … those of the cluster no longer can
	metadataByID          = 12 // … topics can be asked by id
	metadataTopError      = 13 // … the whole answer has a code
)

// metadata describes brokers and topics, and creates topics that are asked for and do not exist.
func (h *Handler) metadata(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.MetadataRequest)
	if code := metadataFault(r.Version, req); code != 0 {
		return wire.Reply{Body: refusedMetadata(r.Version, req, code)}
	}
	resp := kmsg.NewPtrMetadataResponse()
	c := metadataCall{h: h, r: r, req: req, image: h.deps.Metadata.Image()}
	if req.Topics == nil || r.Version < metadataNone && len(req.Topics) == 0 {
		for t := range c.image.Topics.All() {
			resp.Topics = append(resp.Topics, c.describe(t))
		}
	} else {
		resp.Topics = c.asked()
	}
	for _, b := range reachable(c.image, r.Listener.Name, false) {
		out := kmsg.NewMetadataResponseBroker()
		out.NodeID, out.Rack = b.ID, b.Rack
		out.Host, out.Port, _ = endpoint(b, r.Listener.Name)
		resp.Brokers = append(resp.Brokers, out)
	}
	resp.ClusterID = &c.image.ClusterID
	resp.ControllerID = h.controllerID(c.image, r.Listener.Name)
	if req.IncludeClusterAuthorizedOperations && r.Version >= metadataOperations && r.Version < metadataNoCluster {
		resp.AuthorizedOperations = clusterOperations
	}
	return wire.Reply{Body: resp}
}

// metadataFault is what refuses a whole request: topics by id before ids were served, or neither name nor id. Apache
// Kafka trips over the latter, and its code tells.
func metadataFault(version int16, req *kmsg.MetadataRequest) int16 {
	for _, t := range req.Topics {
		noID := t.TopicID == [16]byte{}
		switch {
		case version < metadataByID && (t.Topic == nil || !noID):
			return kerr.InvalidRequest.Code
		case t.Topic == nil && noID:
			return kerr.UnknownServerError.Code
		}
	}
	return 0
}

// refusedMetadata gives every topic the same code, and nothing else.
func refusedMetadata(version int16, req *kmsg.MetadataRequest, code int16) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ControllerID = -1
	if version >= metadataTopError {
		resp.ErrorCode = code
	}
	for _, t := range req.Topics {
		out := kmsg.NewMetadataResponseTopic()
		out.Topic, out.TopicID, out.ErrorCode = t.Topic, t.TopicID, code
		if out.Topic == nil {
			out.Topic = new(string)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// metadataCall is one Metadata request on its way.
type metadataCall struct {
	h     *Handler
	r     *wire.Request
	req   *kmsg.MetadataRequest
	image *metadata.Image
}

// asked answers for the topics of the request, each once, whether it is asked by name, by id or both. (Apache Kafka
// leaves out those asked by name when another is asked by id.)
func (c *metadataCall) asked() []kmsg.MetadataResponseTopic {
	out := make([]kmsg.MetadataResponseTopic, 0, len(c.req.Topics))
	names, ids := make(map[string]bool, len(c.req.Topics)), map[record.UUID]bool{}
	for _, t := range c.req.Topics {
		id := record.UUID(t.TopicID)
		var topic *metadata.Topic
		switch {
		case !id.IsZero() && ids[id]:
			continue
		case !id.IsZero():
			ids[id] = true
			if topic = c.image.Topics.ByID(id); topic == nil {
				out = append(out, unknownID(id))
				continue
			}
		default:
			if names[*t.Topic] {
				continue
			}
			topic = c.find(*t.Topic)
		}
		switch {
		case topic == nil:
			names[*t.Topic] = true
			out = append(out, c.unknown(*t.Topic))
		case !names[topic.Name]:
			names[topic.Name] = true
			out = append(out, c.describe(topic))
		}
	}
	return out
}

// unknown is the answer for a name that is not a topic's.
func (c *metadataCall) unknown(name string) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.IsInternal, out.ErrorCode = &name, internalTopic(name), kerr.UnknownTopicOrPartition.Code
	if topicNameFault(name) != "" {
		out.ErrorCode = kerr.InvalidTopicException.Code
	}
	c.operations(&out)
	return out
}

// unknownID is the answer for an id that is not a topic's: it has no name, and no operations even if they were asked
// for.
func unknownID(id record.UUID) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.TopicID, out.ErrorCode = id, kerr.UnknownTopicID.Code
	return out
}

// find looks a topic up, and creates it where that is wanted. The topic is created before the answer and described in
// it with its leader: Apache Kafka answers UNKNOWN_TOPIC_OR_PARTITION first and creates meanwhile, at which
// clients that do not retry give up. nil: there is none.
func (c *metadataCall) find(name string) *metadata.Topic {
	t := c.image.Topics.ByName(name)
	if t != nil || !c.mayCreate(name) {
		return t
	}
	if err := c.h.autoCreate(name); err != nil {
		c.h.deps.Logger.Warn("cannot create a topic that a client asked for", "topic", name, "client", c.r.Client.Addr, "client_id", c.r.ClientID, "err", err)
	}
	// Somebody else may have created it at the same moment, so that the error says nothing.
	c.image = c.h.deps.Metadata.Image()
	return c.image.Topics.ByName(name)
}

// mayCreate reports whether asking for a name creates a topic. Before version 4 clients could not say that they do
// not want it.
func (c *metadataCall) mayCreate(name string) bool {
	if c.r.Version >= metadataAutoCreate && !c.req.AllowAutoTopicCreation || topicNameFault(name) != "" {
		return false
	}
	return c.h.deps.Config().Bool("auto.create.topics.enable")
}

func (c *metadataCall) operations(out *kmsg.MetadataResponseTopic) {
	if c.req.IncludeTopicAuthorizedOperations && c.r.Version >= metadataOperations {
		out.AuthorizedOperations = topicOperations
	}
}

func (c *metadataCall) describe(t *metadata.Topic) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = &t.Name, t.ID, internalTopic(t.Name)
	c.operations(&out)
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.Partitions))
	for i, p := range t.Partitions {
		out.Partitions = append(out.Partitions, c.partition(int32(i), p))
	}
	return out
}

// partition describes one partition. Version 0 names living replicas only, and says when some are missing.
func (c *metadataCall) partition(n int32, p *metadata.Partition) kmsg.MetadataResponseTopicPartition {
	out := kmsg.NewMetadataResponseTopicPartition()
	listener := c.r.Listener.Name
	out.Partition, out.LeaderEpoch = n, int32(p.LeaderEpoch)
	out.Replicas, out.ISR = p.Replicas, p.ISR
	out.OfflineReplicas = offlineReplicas(c.image, p, listener)
	out.Leader, out.ErrorCode = leaderOf(c.image, p, listener, c.r.Version >= metadataListenerError)
	if c.r.Version == 0 {
		out.Replicas, out.ISR = living(c.image, p.Replicas, listener), living(c.image, p.ISR, listener)
		if out.ErrorCode == 0 && (len(out.Replicas) < len(p.Replicas) || len(out.ISR) < len(p.ISR)) {
			out.ErrorCode = kerr.ReplicaNotAvailable.Code
		}
	}
	return out
}

// leaderOf returns the leader that a client of the listener can reach, or -1 and why there is none.
func leaderOf(image *metadata.Image, p *metadata.Partition, listener string, listenerError bool) (int32, int16) {
	b := image.Brokers[p.Leader]
	if p.Leader < 0 || b == nil || b.Fenced {
		return -1, kerr.LeaderNotAvailable.Code
	}
	if _, _, ok := endpoint(b, listener); ok {
		return p.Leader, 0
	}
	if listenerError {
		return -1, kerr.ListenerNotFound.Code
	}
	return -1, kerr.LeaderNotAvailable.Code
}

func living(image *metadata.Image, nodes []int32, listener string) []int32 {
	out := make([]int32, 0, len(nodes))
	for _, id := range nodes {
		if alive(image, id, listener) {
			out = append(out, id)
		}
	}
	return out
}

// offlineReplicas are the replicas on brokers that cannot be reached, and those in log directories that their broker
// no longer has.
func offlineReplicas(image *metadata.Image, p *metadata.Partition, listener string) []int32 {
	var out []int32
	for i, id := range p.Replicas {
		if !alive(image, id, listener) || i < len(p.Directories) && !online(image.Brokers[id], p.Directories[i]) {
			out = append(out, id)
		}
	}
	return out
}

// online reports whether a directory of a broker works, as far as is known (DirectoryId.isOnline).
func online(b *metadata.Broker, dir record.UUID) bool {
	switch {
	case len(b.LogDirs) == 0, dir == record.UnassignedDirID, dir == record.MigratingDirID:
		return true
	case dir == record.LostDirID:
		return false
	}
	return slices.Contains(b.LogDirs, dir)
}
