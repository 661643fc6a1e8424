package wire

import "sync/atomic"

// Bounds of the counted keys and versions; what lies outside is not served by anybody.
const (
	maxKeys     = 128
	maxVersions = 32
)

// stats counts, without locks.
type stats struct {
	requests                   [maxKeys][maxVersions]atomic.Uint64
	connections                atomic.Int64
	accepted, refused, invalid atomic.Uint64
}

func (s *stats) count(key, version int16) {
	if key >= 0 && key < maxKeys && version >= 0 && version < maxVersions {
		s.requests[key][version].Add(1)
	}
}

// RequestCount is how often an API was asked at one version.
type RequestCount struct {
	Key, Version int16
	Count        uint64
}

// API is the name of the API.
func (c RequestCount) API() string { return apiName(c.Key) }

// Stats is a snapshot of a server's counters since it was made.
type Stats struct {
	// Requests are the well-formed requests, in key and version order, zero counts left out.
	Requests []RequestCount
	// Connections are those open now.
	Connections int64
	// Accepted counts connections that were served, Refused those ended by max.connections.per.ip.
	Accepted, Refused uint64
	// Invalid counts connections that were ended for what they sent.
	Invalid uint64
}

// Stats returns the server's counters. They are read one by one while the server runs.
func (s *Server) Stats() Stats {
	out := Stats{
		Connections: s.stats.connections.Load(),
		Accepted:    s.stats.accepted.Load(),
		Refused:     s.stats.refused.Load(),
		Invalid:     s.stats.invalid.Load(),
	}
	for key := range s.stats.requests {
		for version := range s.stats.requests[key] {
			if n := s.stats.requests[key][version].Load(); n > 0 {
				out.Requests = append(out.Requests, RequestCount{int16(key), int16(version), n})
			}
		}
	}
	return out
}
