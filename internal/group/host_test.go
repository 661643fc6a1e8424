package group

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// topicTable is the metadata that the tests need.
type topicTable struct {
	mu     sync.Mutex
	topics []*metadata.Topic
}

func (t *topicTable) add(name string, partitions int) record.UUID {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := &metadata.Topic{Name: name, ID: record.UUID{0xee, byte(len(t.topics) + 1)}, Partitions: make([]*metadata.Partition, partitions)}
	t.topics = append(t.topics, x)
	return x.ID
}

func (t *topicTable) remove(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.topics = slices.DeleteFunc(slices.Clone(t.topics), func(x *metadata.Topic) bool { return x.Name == name })
}

func (t *topicTable) All() iter.Seq[*metadata.Topic] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Values(slices.Clone(t.topics))
}

func (t *topicTable) find(f func(*metadata.Topic) bool) *metadata.Topic {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.topics, f); i >= 0 {
		return t.topics[i]
	}
	return nil
}

func (t *topicTable) ByName(name string) *metadata.Topic {
	return t.find(func(x *metadata.Topic) bool { return x.Name == name })
}

func (t *topicTable) ByID(id record.UUID) *metadata.Topic {
	return t.find(func(x *metadata.Topic) bool { return x.ID == id })
}

// led is a partition of the offsets topic that the host leads.
type led struct {
	log   *storage.Log
	epoch record.LeaderEpoch

	mu   sync.Mutex
	fail error
	// lagging: the high watermark does not follow appends, as with several replicas.
	lagging bool
}

func (p *led) Append(b []byte, o storage.AppendOptions) (storage.AppendInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return storage.AppendInfo{}, p.fail
	}
	info, err := p.log.Append(b, o)
	if !p.lagging {
		p.log.SetHighWatermark(p.log.LogEndOffset())
	}
	return info, err
}

func (p *led) Log() *storage.Log               { return p.log }
func (p *led) LeaderEpoch() record.LeaderEpoch { return p.epoch }

func (p *led) failWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// lag makes the high watermarks stay behind, or catch up.
func (h *host) lag(on bool) {
	for i, p := range h.parts {
		p.mu.Lock()
		p.lagging = on
		if !on {
			p.log.SetHighWatermark(p.log.LogEndOffset())
		}
		p.mu.Unlock()
		h.Advanced(int32(i))
	}
}

// host is a coordinator with its topics and the logs of its partitions.
type host struct {
	*Service
	t        testing.TB
	topics   *topicTable
	parts    []*led
	mu       sync.Mutex
	settings Settings
}

const hostPartitions = 2

// newHost starts a coordinator of two empty partitions. It is closed at the end of the test, or earlier by
// close: inside a synctest bubble that must come first.
func newHost(t testing.TB, change func(*Settings)) *host {
	t.Helper()
	fs := vfs.NewMem()
	logs := make([]*storage.Log, hostPartitions)
	for i := range logs {
		logs[i] = openLog(t, fs, "/data", i)
	}
	return newHostOn(t, logs, change)
}

func openLog(t testing.TB, fs vfs.FS, dir string, partition int) *storage.Log {
	t.Helper()
	tp := record.TopicPartition{Topic: OffsetsTopic, Partition: int32(partition)}
	c := storage.DefaultConfig()
	c.CleanupCompact, c.CleanupDelete = true, false
	l, err := storage.Open(storage.Options{
		FS: fs, Handles: vfs.NewHandles(fs, 64), Dir: filepath.Join(dir, tp.String()), TopicPartition: tp, Config: c, Clean: true, SkipTxnVerification: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(l.LogEndOffset())
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func newHostOn(t testing.TB, logs []*storage.Log, change func(*Settings)) *host {
	t.Helper()
	h := &host{t: t, topics: &topicTable{}, settings: DefaultSettings()}
	h.settings.InitialRebalanceDelay = 0
	if change != nil {
		change(&h.settings)
	}
	h.topics.add(OffsetsTopic, len(logs))
	h.Service = NewService(Options{Config: h.config})
	h.Service.env.topics = func() topicFinder { return h.topics }
	for i, l := range logs {
		h.parts = append(h.parts, &led{log: l})
		h.Elected(int32(i), h.parts[i])
	}
	for i := range logs {
		<-h.runtime.Settled(int32(i))
	}
	t.Cleanup(h.Close)
	return h
}

func (h *host) config() Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

func (h *host) change(f func(*Settings)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.settings)
}

// restart has all partitions read again, as after the start of a broker.
func (h *host) restart() {
	h.t.Helper()
	for i, p := range h.parts {
		h.Resigned(int32(i))
		p.epoch++
		h.Elected(int32(i), p)
		<-h.runtime.Settled(int32(i))
	}
}

// on runs f on the machine that has a group.
func (h *host) on(group string, f func(m *machine)) {
	h.t.Helper()
	p, err := h.partition(group)
	if err != nil {
		h.t.Fatal(err)
	}
	askPartition(h.Service, p, false, func(m *machine, a *answer[int16]) coord.Result {
		f(m)
		a.give(0)
		return coord.None()
	}, func(c int16) int16 { h.t.Fatalf("partition %d: %v", p, kerr.ErrorForCode(c)); return c })
}

// records are the keys and values that the log of a group's partition holds, in order.
func (h *host) records(group string) []record.Record {
	h.t.Helper()
	p, err := h.partition(group)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.recordsOf(p)
}

// recordsOf are the keys and values that the log of a partition holds, in order.
func (h *host) recordsOf(p int32) []record.Record {
	h.t.Helper()
	l := h.parts[p].log
	var out []record.Record
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		info, err := l.Read(at, storage.LogEnd, 1<<20, true)
		if err != nil {
			h.t.Fatal(err)
		}
		b := make([]byte, info.Region.Length)
		if err := info.Region.ReadInto(b); err != nil {
			h.t.Fatal(err)
		}
		info.Region.Release()
		for s := record.NewScanner(b); s.Next(); {
			rs := s.Batch().Records(0)
			for rs.Next() {
				r := rs.Record()
				r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
				out = append(out, r)
			}
			rs.Close()
			at = s.Batch().Header().NextOffset()
		}
	}
	return out
}

// client is a client of one connection.
type client struct {
	h      *host
	caller Caller
	gone   chan struct{}
	once   sync.Once
}

func (h *host) client(id string) *client {
	c := &client{h: h, gone: make(chan struct{})}
	c.caller = Caller{ClientID: id, ClientHost: "/127.0.0.1", Gone: c.gone}
	c.caller.Wait = func(done <-chan struct{}, timeout time.Duration) bool {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case <-done:
			return true
		case <-c.gone:
		case <-timer.C:
		}
		return false
	}
	return c
}

// hangUp ends the connection.
func (c *client) hangUp() { c.once.Do(func() { close(c.gone) }) }

// joinRequest is a join of a consumer at the newest version.
func joinRequest(group, member string, change func(*kmsg.JoinGroupRequest)) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version = 9
	r.Group, r.MemberID, r.ProtocolType = group, member, consumerProtocolType
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 60_000
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("topic")}}
	if change != nil {
		change(r)
	}
	return r
}

// subscription is a ConsumerProtocolSubscription of version 0.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

func (c *client) join(r *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	return c.h.JoinGroup(context.Background(), c.caller, r)
}

// started is a request that waits.
type started[T any] chan T

func (c *client) startJoin(r *kmsg.JoinGroupRequest) started[*kmsg.JoinGroupResponse] {
	ch := make(started[*kmsg.JoinGroupResponse], 1)
	go func() { ch <- c.join(r) }()
	return ch
}

// enter joins as a new dynamic member does: it gets an id and comes back with it.
func (c *client) enter(group string, change func(*kmsg.JoinGroupRequest)) *kmsg.JoinGroupResponse {
	r := c.join(joinRequest(group, "", change))
	if r.ErrorCode != kerr.MemberIDRequired.Code {
		c.h.t.Errorf("first join of %s: %v, want MEMBER_ID_REQUIRED", group, kerr.ErrorForCode(r.ErrorCode))
		return r
	}
	return c.join(joinRequest(group, r.MemberID, change))
}

func (c *client) sync(group, member string, generation int32, assignment map[string]string) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version = 5
	r.Group, r.MemberID, r.Generation = group, member, generation
	r.ProtocolType, r.Protocol = kmsg.StringPtr(consumerProtocolType), kmsg.StringPtr("range")
	for id, a := range assignment {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(a)})
	}
	return c.h.SyncGroup(context.Background(), c.caller, r)
}

func (c *client) beat(group, member string, generation int32) int16 {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version = 4
	r.Group, r.MemberID, r.Generation = group, member, generation
	return c.h.Heartbeat(context.Background(), c.caller, r).ErrorCode
}

func (c *client) leave(group string, members ...string) *kmsg.LeaveGroupResponse {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version = 5
	r.Group = group
	for _, id := range members {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		r.Members = append(r.Members, m)
	}
	return c.h.LeaveGroup(context.Background(), c.caller, r)
}

// commit commits one offset and returns the partition's error.
func (c *client) commit(group, member string, generation int32, topic string, partition int32, offset int64, change func(*kmsg.OffsetCommitRequest)) int16 {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version = 9
	r.Group, r.MemberID, r.Generation = group, member, generation
	t, p := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	t.Topic, p.Partition, p.Offset = topic, partition, offset
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	if change != nil {
		change(r)
	}
	return c.h.OffsetCommit(context.Background(), c.caller, r).Topics[0].Partitions[0].ErrorCode
}

// fetch fetches one offset.
func (c *client) fetch(group, topic string, partition int32, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.RequireStable = 9, stable
	g, t := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroupTopic()
	g.Group, t.Topic, t.Partitions = group, topic, []int32{partition}
	g.Topics = append(g.Topics, t)
	r.Groups = append(r.Groups, g)
	got := c.h.OffsetFetch(context.Background(), c.caller, r).Groups[0]
	if got.ErrorCode != 0 {
		return kmsg.OffsetFetchResponseGroupTopicPartition{ErrorCode: got.ErrorCode}
	}
	return got.Topics[0].Partitions[0]
}

func (h *host) deleteGroup(group string) int16 {
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Version, r.Groups = 3, []string{group}
	return h.DeleteGroups(context.Background(), Caller{}, r).Groups[0].ErrorCode
}

func (h *host) describe(group string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version, r.Groups = 5, []string{group}
	return h.DescribeGroups(context.Background(), Caller{}, r).Groups[0]
}

// wantCode fails the test if a code is another than expected; e nil means none.
func wantCode(t testing.TB, what string, got int16, e *kerr.Error) {
	t.Helper()
	if got != codeOf(e) {
		t.Errorf("%s: got %s, want %s", what, codeName(got), codeName(codeOf(e)))
	}
}

func codeName(c int16) string {
	if c == 0 {
		return "no error"
	}
	if e := kerr.TypedErrorForCode(c); e != nil {
		return fmt.Sprintf("%d %s", c, e.Message)
	}
	return fmt.Sprint(c)
}
