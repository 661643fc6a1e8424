package handler

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// The endpoint types of DescribeCluster (KIP-919).
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// clusterOperations and topicOperations are the bit fields of what a client may do, bit n standing for operation
// code n of AclOperation: everything that applies to the resource, since there is no authorizer.
const (
	clusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12       // 8096
	topicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11 // 3576
)

// describeCluster lists the brokers that can be reached through the request's listener.
func (h *Handler) describeCluster(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	image := h.deps.Metadata.Image()
	resp.ClusterID, resp.ControllerID = image.ClusterID, -1
	resp.EndpointType = brokerEndpoints
	if r.Version >= 1 && req.EndpointType != brokerEndpoints {
		resp.ErrorCode, resp.ErrorMessage = endpointTypeFault(req.EndpointType)
		return wire.Reply{Body: resp}
	}
	for _, b := range reachable(image, r.Listener.Name, r.Version >= 2 && req.IncludeFencedBrokers) {
		out := kmsg.NewDescribeClusterResponseBroker()
		out.NodeID, out.Rack, out.IsFenced = b.ID, b.Rack, b.Fenced
		out.Host, out.Port, _ = endpoint(b, r.Listener.Name)
		resp.Brokers = append(resp.Brokers, out)
	}
	resp.ControllerID = h.controllerID(image, r.Listener.Name)
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return wire.Reply{Body: resp}
}

func endpointTypeFault(kind int8) (int16, *string) {
	if kind == controllerEndpoints {
		return kerr.MismatchedEndpointType.Code, kmsg.StringPtr("this is a broker's listener; controllers are described on a controller's")
	}
	return kerr.UnsupportedEndpointType.Code, kmsg.StringPtr("there is no such endpoint type")
}

// reachable are the brokers with an endpoint on the listener, in order of their ids. Fenced brokers are not
// reachable, but may be wanted.
func reachable(image *metadata.Image, listener string, fencedToo bool) []*metadata.Broker {
	var out []*metadata.Broker
	for _, b := range image.Brokers {
		if _, _, ok := endpoint(b, listener); ok && (fencedToo || !b.Fenced) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b *metadata.Broker) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// controllerID is the broker that administrative requests are to be sent to: with KRaft any broker that is alive, so
// this one when it is, else the first; -1 when there is none.
func (h *Handler) controllerID(image *metadata.Image, listener string) int32 {
	if alive(image, h.deps.NodeID, listener) {
		return h.deps.NodeID
	}
	for _, b := range reachable(image, listener, false) {
		return b.ID
	}
	return -1
}

// alive reports whether a broker can be reached through the listener.
func alive(image *metadata.Image, id int32, listener string) bool {
	b := image.Brokers[id]
	_, _, ok := endpoint(b, listener)
	return ok && !b.Fenced
}
