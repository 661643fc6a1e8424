package samsa_test

import (
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/record"
)

// shareMember is one member of a share group that fetches partition 0 of one topic, without a group coordinator.
type shareMember struct {
	t      *testing.T
	cl     *kgo.Client
	topic  [16]byte
	group  string
	member string
	epoch  int32
	// accepted are offsets whose acceptance was answered; delivered counts deliveries.
	accepted  map[int64]bool
	delivered map[int64]int
	random    *rand.Rand
}

// initialise gives the share partition its first state, as the group coordinator does when it assigns it.
func (m *shareMember) initialise(ctx context.Context) error {
	find := kmsg.NewPtrFindCoordinatorRequest() // which has the state's topic made
	find.CoordinatorType, find.CoordinatorKeys = 2, []string{m.group + ":" + base64.RawURLEncoding.EncodeToString(m.topic[:]) + ":0"}
	if _, err := m.cl.SeedBrokers()[0].Request(ctx, find); err != nil {
		return err
	}
	r := kmsg.NewPtrInitializeShareGroupStateRequest()
	r.GroupID = m.group
	topic := kmsg.NewInitializeShareGroupStateRequestTopic()
	topic.TopicID = m.topic
	p := kmsg.NewInitializeShareGroupStateRequestTopicPartition()
	p.StateEpoch, p.StartOffset = 1, 0
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	resp, err := m.cl.SeedBrokers()[0].Request(ctx, r)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.(*kmsg.InitializeShareGroupStateResponse).Topics[0].Partitions[0].ErrorCode)
}

// fetch acquires records; every one of them must come with its bytes, and none may have been accepted.
func (m *shareMember) fetch(ctx context.Context) ([]kmsg.ShareFetchResponseTopicPartitionAcquiredRecord, error) {
	r := kmsg.NewPtrShareFetchRequest()
	group := m.group
	r.GroupID, r.MemberID, r.ShareSessionEpoch = &group, &m.member, m.epoch
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes, r.MaxRecords, r.BatchSize = 200, 1, 1<<20, 100, 20
	r.ShareAcquireMode = int8(m.random.IntN(2))
	topic := kmsg.NewShareFetchRequestTopic()
	topic.TopicID = m.topic
	topic.Partitions = append(topic.Partitions, kmsg.NewShareFetchRequestTopicPartition())
	r.Topics = append(r.Topics, topic)
	kresp, err := m.cl.SeedBrokers()[0].Request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.ShareFetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	m.epoch++
	if len(resp.Topics) == 0 {
		return nil, nil
	}
	got := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return nil, err
	}
	m.check(got)
	return got.AcquiredRecords, nil
}

func (m *shareMember) check(got *kmsg.ShareFetchResponseTopicPartition) {
	m.t.Helper()
	covered := map[int64]bool{}
	for rest := got.Records; len(rest) > 0; {
		h, err := record.ParseHeader(rest)
		if err != nil || h.SizeInBytes > len(rest) {
			m.t.Fatal("torn records", err)
		}
		for o := h.BaseOffset; o <= h.LastOffset(); o++ {
			covered[int64(o)] = true
		}
		rest = rest[h.SizeInBytes:]
	}
	for _, a := range got.AcquiredRecords {
		for o := a.FirstOffset; o <= a.LastOffset; o++ {
			m.delivered[o]++
			if !covered[o] {
				m.t.Errorf("offset %d was acquired and not sent", o)
			}
			if m.accepted[o] {
				m.t.Errorf("offset %d was accepted, that was answered, and it came again", o)
			}
		}
	}
}

// acknowledge accepts some of what was acquired, releases some, and keeps some.
func (m *shareMember) acknowledge(ctx context.Context, acquired []kmsg.ShareFetchResponseTopicPartitionAcquiredRecord) error {
	r := kmsg.NewPtrShareAcknowledgeRequest()
	group := m.group
	r.GroupID, r.MemberID, r.ShareSessionEpoch = &group, &m.member, m.epoch
	topic, p := kmsg.NewShareAcknowledgeRequestTopic(), kmsg.NewShareAcknowledgeRequestTopicPartition()
	topic.TopicID = m.topic
	var accepts []int64
	for _, a := range acquired {
		b := kmsg.NewShareAcknowledgeRequestTopicPartitionAcknowledgementBatch()
		b.FirstOffset, b.LastOffset = a.FirstOffset, a.LastOffset
		for o := a.FirstOffset; o <= a.LastOffset; o++ {
			kind := int8(1)
			// A record is given up after five deliveries, so that the last ones must be accepted.
			if m.random.IntN(4) == 0 && a.DeliveryCount < 3 {
				kind = 2
			} else {
				accepts = append(accepts, o)
			}
			b.AcknowledgeTypes = append(b.AcknowledgeTypes, kind)
		}
		p.AcknowledgementBatches = append(p.AcknowledgementBatches, b)
	}
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	kresp, err := m.cl.SeedBrokers()[0].Request(ctx, r)
	if err != nil {
		return err
	}
	resp := kresp.(*kmsg.ShareAcknowledgeResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	m.epoch++
	if err := kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode); err != nil {
		return err
	}
	for _, o := range accepts {
		m.accepted[o] = true
	}
	return nil
}

// consume goes on until so many records are accepted. Whatever goes wrong, it opens a new session.
func (m *shareMember) consume(until int) {
	m.t.Helper()
	deadline := time.Now().Add(time.Minute)
	var last error
	for len(m.accepted) < until {
		if time.Now().After(deadline) {
			m.t.Fatalf("%d of %d records accepted; last error: %v", len(m.accepted), until, last)
		}
		ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Second)
		got, err := m.fetch(ctx)
		if err == nil && len(got) > 0 {
			err = m.acknowledge(ctx, got)
		}
		cancel()
		if err != nil {
			last, m.epoch = err, 0
			if errors.Is(err, kerr.InvalidRequest) || errors.Is(err, kerr.InvalidRecordState) {
				m.t.Fatal(err)
			}
		}
	}
}

// TestKilledBrokerKeepsShareState kills the broker while a member of a share group consumes. Nothing is lost, and what was
// accepted does not come again once that was answered.
func TestKilledBrokerKeepsShareState(t *testing.T) {
	rounds, perRound := longtest.Pick(2, 30), 1000
	t.Setenv(processProperties, strings.Join([]string{
		"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1", "share.coordinator.state.topic.num.partitions=2",
	}, " "))
	dir := t.TempDir()
	process := startProcess(t, dir, "127.0.0.1:0")
	addr := process.addr
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("shared"), kgo.ProducerBatchMaxBytes(2<<10), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.RetryTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	createTopic(t, cl, "shared", 1)
	m := &shareMember{t: t, cl: cl, group: "killed-share", member: "m", accepted: map[int64]bool{}, delivered: map[int64]int{}, random: rand.New(rand.NewPCG(1, 2))}
	m.topic = topicID(t, cl, "shared")
	eventually(t, "the state is initialised", func() bool { return m.initialise(t.Context()) == nil })
	for round := range rounds {
		for i := range perRound {
			cl.Produce(context.WithoutCancel(t.Context()), &kgo.Record{Value: []byte(strconv.Itoa(round*perRound + i))}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		m.consume(round*perRound + m.random.IntN(perRound))
		process.kill()
		process = startProcess(t, dir, addr)
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.consume(rounds * perRound)
	again := 0
	for o := range int64(rounds * perRound) {
		if m.delivered[o] == 0 {
			t.Errorf("offset %d was never delivered", o)
		}
		if m.delivered[o] > 1 {
			again++
		}
	}
	t.Logf("%d records, %d of them delivered more than once, %d kills", rounds*perRound, again, rounds)
}

func topicID(t *testing.T, cl *kgo.Client, topic string) [16]byte {
	t.Helper()
	r := kmsg.NewPtrMetadataRequest()
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = &topic
	r.Topics = append(r.Topics, mt)
	resp, err := r.RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Topics[0].TopicID
}
