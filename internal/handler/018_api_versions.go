package handler

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/wire"
)

// The version of ApiVersions from which …
const (
	versionsSoftware = 3 // … the client names itself (KIP-511) and features are told (KIP-584)
	versionsZeroMin  = 4 // … clients can read features whose lowest level is 0 (KAFKA-17492)
	versionsCluster  = 5 // … the client may say whom it expects (KIP-1242)
)

// rebootstrapRequired is REBOOTSTRAP_REQUIRED: whoever answers is not whom the client wants.
const rebootstrapRequired = 129

// apiVersions lists what is served. A version that is not served itself never comes here: wire answers it.
//
// # Features
//
// All of Kafka's are told. What clients make of them:
//
//   - transaction.version: from level 2 on producers send EndTxn 5 and leave AddPartitionsToTxn out (KIP-890).
//   - group.version, streams.version, share.version: groups of these protocols are served from level 1 on.
//   - metadata.version, kraft.version, eligible.leader.replicas.version: the metadata log is written and read at these
//     levels; tools show them, clients do not care.
func (h *Handler) apiVersions(_ context.Context, r *wire.Request) wire.Reply {
	req := r.Body.(*kmsg.ApiVersionsRequest)
	resp := kmsg.NewPtrApiVersionsResponse()
	image := h.deps.Metadata.Image()
	if r.Version >= versionsSoftware {
		if !softwareName(req.ClientSoftwareName) || !softwareName(req.ClientSoftwareVersion) {
			resp.ErrorCode = kerr.InvalidRequest.Code
			return wire.Reply{Body: resp}
		}
		r.Client.SoftwareName, r.Client.SoftwareVersion = req.ClientSoftwareName, req.ClientSoftwareVersion
	}
	if resp.ErrorCode = h.expected(r.Version, req, image); resp.ErrorCode != 0 {
		return wire.Reply{Body: resp}
	}
	for _, key := range slices.Sorted(maps.Keys(h.routes)) {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = key, h.routes[key].listed, h.routes[key].max
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	if r.Version >= versionsSoftware {
		tellFeatures(resp, r.Version, image, h.deps.Metadata.KRaftVersion())
	}
	return wire.Reply{Body: resp}
}

// softwareName checks a client's name or version: letters and digits at both ends, dots and dashes between.
func softwareName(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		inner := (c == '.' || c == '-') && i > 0 && i < len(s)-1
		if !alnum && !inner {
			return false
		}
	}
	return s != ""
}

// expected checks whom the client expects: cluster id and node id come together or not at all (V-11).
func (h *Handler) expected(version int16, req *kmsg.ApiVersionsRequest, image *metadata.Image) int16 {
	switch {
	case version < versionsCluster || req.ClusterID == nil && req.NodeID == -1:
		return 0
	case req.ClusterID == nil || req.NodeID == -1:
		return kerr.InvalidRequest.Code
	case *req.ClusterID != image.ClusterID || req.NodeID != h.deps.NodeID:
		return rebootstrapRequired
	}
	return 0
}

func tellFeatures(resp *kmsg.ApiVersionsResponse, version int16, image *metadata.Image, kraft int16) {
	resp.FinalizedFeaturesEpoch = int64(image.Offset)
	for _, f := range metadata.SupportedFeatures() {
		if version >= versionsZeroMin || f.Min > 0 {
			s := kmsg.NewApiVersionsResponseSupportedFeature()
			s.Name, s.MinVersion, s.MaxVersion = f.Name, f.Min, f.Max
			resp.SupportedFeatures = append(resp.SupportedFeatures, s)
		}
		level := image.Features[f.Name]
		if f.Name == metadata.KRaftVersionFeature {
			level = kraft
		}
		if level > 0 {
			l := kmsg.NewApiVersionsResponseFinalizedFeature()
			l.Name, l.MinVersionLevel, l.MaxVersionLevel = f.Name, level, level
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, l)
		}
	}
}
