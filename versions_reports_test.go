package samsa_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Reports about versions of the protocol, and about what a starting broker says. A client library would choose versions
// and repeat what fails, so these speak for themselves.

// rawClient is one connection. Requests go out at the version they carry.
type rawClient struct{ net.Conn }

func dialRaw(t *testing.T, addr string) rawClient {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return rawClient{conn}
}

// ask returns the answer, or why there is none.
func (c rawClient) ask(req kmsg.Request) (kmsg.Response, error) {
	const correlation = 7
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, req, correlation)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	reply := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, reply); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	header := 4
	if resp.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		header++
	}
	if len(reply) < header || binary.BigEndian.Uint32(reply) != correlation {
		return nil, errors.New("that is the answer to something else")
	}
	return resp, resp.ReadFrom(reply[header:])
}

func (c rawClient) mustAsk(t *testing.T, req kmsg.Request) kmsg.Response {
	t.Helper()
	resp, err := c.ask(req)
	if err != nil {
		t.Fatalf("%s %d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp
}

// whatever version ApiVersions lists is answered in that version, and the connection goes on. Produce 0 to 2 are
// listed for librdkafka alone, as by Kafka.
func TestX18EveryListedVersionIsAnswered(t *testing.T) {
	b := startBroker(t, nil)
	c := dialRaw(t, b.Addr())
	list := kmsg.NewPtrApiVersionsRequest()
	list.Version, list.ClientSoftwareName, list.ClientSoftwareVersion = 4, "samsa", "1"
	asked := 0
	for _, k := range c.mustAsk(t, list).(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == kmsg.Produce.Int16() {
			k.MinVersion = 3
		}
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			req := kmsg.RequestForKey(k.ApiKey)
			req.SetVersion(version)
			if d, ok := req.(interface{ Default() }); ok {
				d.Default()
			}
			if p, ok := req.(*kmsg.ProduceRequest); ok {
				p.Acks = 1 // without acks there is no answer
			}
			if _, err := c.ask(req); err != nil {
				t.Errorf("%s %d: %v", kmsg.NameForKey(k.ApiKey), version, err)
				c = dialRaw(t, b.Addr())
			}
			asked++
		}
	}
	if asked < 150 {
		t.Errorf("only %d versions were asked for", asked)
	}
}

// G-08: the group and admin requests of clients that Kafka 4 no longer serves (KIP-896) do what they did.
func TestG08OldVersionsWork(t *testing.T) {
	b := startBroker(t, nil)
	c := dialRaw(t, b.Addr())
	create := kmsg.NewPtrCreateTopicsRequest()
	create.TimeoutMillis = 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "old", 1, 1
	create.Topics = append(create.Topics, topic)
	if got := c.mustAsk(t, create).(*kmsg.CreateTopicsResponse).Topics[0]; got.ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(got.ErrorCode))
	}
	for version := range int16(2) {
		group := string('a' + rune(version))
		member, generation := joinOld(t, c, group, version)
		if version == 0 { // its OffsetCommit cannot name a member, so it is for groups without
			leaveOld(t, c, group, member)
			group, member, generation = "simple", "", -1
		}
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Version, commit.Group, commit.Generation, commit.MemberID = version, group, generation, member
		ct, cp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		cp.Offset, cp.Metadata = 40+int64(version), kmsg.StringPtr("m")
		ct.Topic, ct.Partitions = "old", append(ct.Partitions, cp)
		commit.Topics = append(commit.Topics, ct)
		eventually(t, "the coordinator has loaded", func() bool { // the group may be another coordinator's than the one before
			got := kerr.ErrorForCode(c.mustAsk(t, commit).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
			if got != nil && !errors.Is(got, kerr.CoordinatorLoadInProgress) {
				t.Fatalf("commit %d: %v", version, got)
			}
			return got == nil
		})
		fetch, ft := kmsg.NewPtrOffsetFetchRequest(), kmsg.NewOffsetFetchRequestTopic()
		ft.Topic, ft.Partitions = "old", []int32{0}
		fetch.Version, fetch.Group, fetch.Topics = version, group, append(fetch.Topics, ft)
		if got := c.mustAsk(t, fetch).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0]; got.Offset != 40+int64(version) {
			t.Errorf("fetch %d: offset %d", version, got.Offset)
		}
	}
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.TimeoutMillis, del.TopicNames = 10_000, []string{"old"}
	if got := c.mustAsk(t, del).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode; got != 0 {
		t.Error(kerr.ErrorForCode(got))
	}
}

// leaveOld leaves with the oldest LeaveGroup.
func leaveOld(t *testing.T, c rawClient, group, member string) {
	t.Helper()
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = group, member
	if got := c.mustAsk(t, leave).(*kmsg.LeaveGroupResponse).ErrorCode; got != 0 {
		t.Errorf("leave: %v", kerr.ErrorForCode(got))
	}
}

// joinOld makes a group of one with JoinGroup, SyncGroup and Heartbeat of an old version.
func joinOld(t *testing.T, c rawClient, group string, version int16) (member string, generation int32) {
	t.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = group
	c.mustAsk(t, find)
	join, p := kmsg.NewPtrJoinGroupRequest(), kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte{1}
	join.Version, join.Group, join.ProtocolType, join.Protocols = version, group, "consumer", append(join.Protocols, p)
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 30_000, 30_000
	var joined *kmsg.JoinGroupResponse
	eventually(t, "the group lets its member in", func() bool {
		joined = c.mustAsk(t, join).(*kmsg.JoinGroupResponse)
		return joined.ErrorCode == 0
	})
	sync, a := kmsg.NewPtrSyncGroupRequest(), kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID, a.MemberAssignment = joined.MemberID, []byte{2}
	sync.Version, sync.Group, sync.Generation, sync.MemberID, sync.GroupAssignment = version, group, joined.Generation, joined.MemberID, append(sync.GroupAssignment, a)
	if got := c.mustAsk(t, sync).(*kmsg.SyncGroupResponse); got.ErrorCode != 0 || string(got.MemberAssignment) != "\x02" {
		t.Fatalf("sync %d: %v, %v", version, kerr.ErrorForCode(got.ErrorCode), got.MemberAssignment)
	}
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Version, beat.Group, beat.Generation, beat.MemberID = version, group, joined.Generation, joined.MemberID
	if got := c.mustAsk(t, beat).(*kmsg.HeartbeatResponse).ErrorCode; got != 0 {
		t.Errorf("heartbeat %d: %v", version, kerr.ErrorForCode(got))
	}
	return joined.MemberID, joined.Generation
}

// a client that comes while the broker starts is not told that a topic does not exist: librdkafka would give up what
// it has queued. Whoever gets an answer gets the topic.
func TestX15NothingIsUnknownDuringAStart(t *testing.T) {
	dir := t.TempDir()
	process := startProcess(t, dir, "127.0.0.1:0")
	cl, err := kgo.NewClient(kgo.SeedBrokers(process.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	createTopic(t, cl, "early", 3)
	for range 3 {
		process.kill()
		first := make(chan *kmsg.MetadataResponse, 1)
		go func() { first <- firstMetadata(process.addr, "early") }()
		process = startProcess(t, dir, process.addr)
		resp := <-first
		if resp == nil {
			t.Fatal("nobody answered")
		}
		if topic := resp.Topics[0]; topic.ErrorCode != 0 || len(topic.Partitions) != 3 {
			t.Errorf("the first answer is %v with %d partitions", kerr.ErrorForCode(topic.ErrorCode), len(topic.Partitions))
		}
	}
}

// firstMetadata asks for a topic again and again until somebody answers; nil when nobody does for long.
func firstMetadata(addr, topic string) *kmsg.MetadataResponse {
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		req, rt := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
		rt.Topic = &topic
		req.Version, req.AllowAutoTopicCreation, req.Topics = 4, false, append(req.Topics, rt)
		resp, err := rawClient{conn}.ask(req)
		conn.Close()
		if err == nil {
			return resp.(*kmsg.MetadataResponse)
		}
	}
	return nil
}
