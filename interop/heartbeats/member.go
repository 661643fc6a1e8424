package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions of the requests: the newest of Apache Kafka 4.4.
const (
	joinVersion, syncVersion, heartbeatVersion, consumerVersion = 9, 5, 4, 1
)

// What members ask for: the defaults of Kafka's own consumer.
const (
	sessionMs   = 45_000
	rebalanceMs = 300_000
	topic       = "heartbeats"
	assignor    = "range"
)

// member is one member of a group on a connection of its own.
type member struct {
	o      options
	group  string
	joined func()
	c      *counters

	conn       net.Conn
	correlated int32
}

// live joins and heartbeats until ctx ends.
func (m *member) live(ctx context.Context) (err error) {
	var d net.Dialer
	if m.conn, err = d.DialContext(ctx, "tcp", m.o.broker); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = m.conn.Close() })()
	defer m.conn.Close()
	if m.o.protocol == "classic" {
		err = m.classic(ctx)
	} else {
		err = m.consumer(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// beat waits an interval and counts.
func (m *member) beat(ctx context.Context, interval time.Duration, code int16) error {
	m.c.beats.Add(1)
	if code != 0 {
		m.c.faults.Add(1)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interval):
		return nil
	}
}

func (m *member) classic(ctx context.Context) error {
	id := ""
	for {
		generation, member, err := m.join(id)
		if err != nil {
			return err
		}
		id = member
		m.joined()
		m.c.joined.Add(1)
		for code := int16(0); code == 0; {
			h := kmsg.NewPtrHeartbeatRequest()
			h.Group, h.Generation, h.MemberID = m.group, generation, id
			resp, err := m.ask(h, heartbeatVersion)
			if err != nil {
				return err
			}
			code = resp.(*kmsg.HeartbeatResponse).ErrorCode
			rebalance := code == kerr.RebalanceInProgress.Code
			if !rebalance {
				if err := m.beat(ctx, m.o.interval, code); err != nil {
					return err
				}
			}
		}
		m.c.joined.Add(-1)
	}
}

// join goes through JoinGroup and SyncGroup until the member has an assignment.
func (m *member) join(id string) (generation int32, member string, err error) {
	for {
		j := kmsg.NewPtrJoinGroupRequest()
		j.Group, j.MemberID, j.ProtocolType = m.group, id, "consumer"
		j.SessionTimeoutMillis, j.RebalanceTimeoutMillis = sessionMs, rebalanceMs
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = assignor
		j.Protocols = append(j.Protocols, p)
		answer, err := m.ask(j, joinVersion)
		if err != nil {
			return 0, "", err
		}
		resp := answer.(*kmsg.JoinGroupResponse)
		id = resp.MemberID
		if resp.ErrorCode == kerr.MemberIDRequired.Code || retry(resp.ErrorCode) {
			continue
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return 0, "", fmt.Errorf("join: %w", err)
		}
		code, err := m.sync(resp)
		if err != nil {
			return 0, "", err
		}
		if code == 0 {
			return resp.Generation, id, nil
		}
	}
}

func (m *member) sync(joined *kmsg.JoinGroupResponse) (code int16, err error) {
	s := kmsg.NewPtrSyncGroupRequest()
	s.Group, s.Generation, s.MemberID = m.group, joined.Generation, joined.MemberID
	s.ProtocolType, s.Protocol = joined.ProtocolType, joined.Protocol
	for _, other := range joined.Members { // the leader only is told of them
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = other.MemberID, []byte(other.MemberID)
		s.GroupAssignment = append(s.GroupAssignment, a)
	}
	resp, err := m.ask(s, syncVersion)
	if err != nil {
		return 0, err
	}
	return resp.(*kmsg.SyncGroupResponse).ErrorCode, nil
}

func (m *member) consumer(ctx context.Context) error {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	h := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	h.Group, h.MemberID, h.RebalanceTimeoutMillis = m.group, fmt.Sprintf("%x", id), rebalanceMs
	h.SubscribedTopicNames, h.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for first := true; ; {
		answer, err := m.ask(h, consumerVersion)
		if err != nil {
			return err
		}
		resp := answer.(*kmsg.ConsumerGroupHeartbeatResponse)
		if retry(resp.ErrorCode) {
			continue
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
		if first {
			first = false
			m.joined()
			m.c.joined.Add(1)
		}
		h.MemberEpoch, h.RebalanceTimeoutMillis, h.SubscribedTopicNames, h.Topics = resp.MemberEpoch, -1, nil, nil
		if resp.Assignment != nil {
			h.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			for _, t := range resp.Assignment.Topics {
				own := kmsg.NewConsumerGroupHeartbeatRequestTopic()
				own.TopicID, own.Partitions = t.TopicID, t.Partitions
				h.Topics = append(h.Topics, own)
			}
		}
		if err := m.beat(ctx, time.Duration(resp.HeartbeatIntervalMillis)*time.Millisecond, resp.ErrorCode); err != nil {
			return err
		}
	}
}

// retry reports whether the coordinator is only not ready yet; asking again costs a round trip, which is pause enough here.
func retry(code int16) bool {
	return code == kerr.CoordinatorLoadInProgress.Code || code == kerr.CoordinatorNotAvailable.Code || code == kerr.NotCoordinator.Code
}

// maxReply bounds what is read; replies to heartbeats take a few hundred bytes.
const maxReply = 1 << 20

// ask sends a request and reads its reply.
func (m *member) ask(req kmsg.Request, version int16) (kmsg.Response, error) {
	req.SetVersion(version)
	m.correlated++
	if _, err := m.conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("heartbeats")).AppendRequest(nil, req, m.correlated)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(m.conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	resp := req.ResponseKind()
	header := uint32(4)
	if resp.IsFlexible() {
		header++
	}
	if n < header || n > maxReply {
		return nil, fmt.Errorf("a reply of %d bytes", n)
	}
	reply := make([]byte, n)
	if _, err := io.ReadFull(m.conn, reply); err != nil {
		return nil, err
	}
	return resp, resp.ReadFrom(reply[header:])
}
