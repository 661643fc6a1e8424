package samsa_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// recordHistories is the address of an Apache Kafka broker to record testdata/share_histories.txt.gz from. It needs
// group.share.min.record.lock.duration.ms=1000, and replication factor 1 for its internal topics.
const recordHistories = "SAMSA_TEST_RECORD_SHARE_HISTORIES"

const (
	shareHistories  = 16
	shareHistoryOps = 120
)

// TestShareHistories runs random histories of three members of a share group, who fetch in both modes, acknowledge parts of
// what they have and of what they have not, release, and close their sessions. What each of them is answered is what Apache
// Kafka 4.4.0 answered: which records, in which ranges, how often delivered, in which batches.
func TestShareHistories(t *testing.T) {
	const file = "testdata/share_histories.txt.gz"
	if addr := os.Getenv(recordHistories); addr != "" {
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		for seed := range uint64(shareHistories) {
			fmt.Fprint(z, newShareHistory(t, addr, seed, 100*time.Millisecond).run())
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.SplitAfter(string(text), "end\n")
	if len(recorded) != shareHistories+1 {
		t.Fatal(len(recorded)-1, "recorded histories")
	}
	b := startBroker(t, map[string]string{"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1", "share.coordinator.state.topic.num.partitions": "1"})
	for seed := range uint64(shareHistories) {
		got := newShareHistory(t, b.Addr(), seed, 0).run()
		if got == recorded[seed] {
			continue
		}
		was := strings.Split(recorded[seed], "\n")
		for i, line := range strings.Split(got, "\n") {
			if i >= len(was) || line != was[i] {
				t.Fatalf("history %d, step %d\n got %s\nwant %s", seed, i, line, was[min(i, len(was)-1)])
			}
		}
	}
}

// historyMember is one member, with a connection of its own.
type historyMember struct {
	c     rawClient
	name  string
	epoch int32
	// have are ranges that were acquired; they may be lost meanwhile.
	have [][2]int64
}

// shareHistory is a random history on a topic of its own.
type shareHistory struct {
	t      *testing.T
	random *rand.Rand
	admin  rawClient
	cl     *kgo.Client
	group  string
	topic  [16]byte
	end    int
	// pause is given to a broker that goes on closing a session after it has answered.
	pause   time.Duration
	loaded  bool
	members []*historyMember
	out     strings.Builder
}

func newShareHistory(t *testing.T, addr string, seed uint64, pause time.Duration) *shareHistory {
	t.Helper()
	h := &shareHistory{t: t, random: rand.New(rand.NewPCG(seed, 1)), admin: dialRaw(t, addr), group: fmt.Sprint("history-", seed), pause: pause}
	var err error
	if h.cl, err = kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(h.group)); err != nil {
		t.Fatal(err)
	}
	defer h.cl.Close()
	createTopic(t, h.cl, h.group, 1)
	h.topic = topicID(t, h.cl, h.group)
	h.configure()
	m := &shareMember{t: t, cl: h.cl, topic: h.topic, group: h.group}
	eventually(t, "the state is initialised", func() bool { return m.initialise(t.Context()) == nil })
	for i := range 3 {
		h.members = append(h.members, &historyMember{c: dialRaw(t, addr), name: fmt.Sprint("m", i)})
	}
	// The batches that the history appends, all of them now: their number does not depend on answers.
	for range 60 {
		h.end += h.produce()
	}
	// A session that stays, so that the group is never without one.
	r := kmsg.NewPtrShareFetchRequest()
	name := "stays"
	r.Version, r.GroupID, r.MemberID, r.MaxBytes = 2, &h.group, &name, 0
	h.admin.mustAsk(t, r)
	return h
}

// configure gives the group random limits.
func (h *shareHistory) configure() {
	r, g := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewIncrementalAlterConfigsRequestResource()
	g.ResourceType, g.ResourceName = kmsg.ConfigResourceType(32), h.group
	for _, c := range [][2]string{
		{"share.delivery.count.limit", fmt.Sprint(2 + h.random.IntN(5))}, {"share.partition.max.record.locks", fmt.Sprint(100 + h.random.IntN(100))},
		{"share.record.lock.duration.ms", "60000"},
	} {
		k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		k.Name, k.Value = c[0], &c[1]
		g.Configs = append(g.Configs, k)
	}
	r.Resources = append(r.Resources, g)
	if got := h.admin.mustAsk(h.t, r).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
		h.t.Fatal(*got.ErrorMessage)
	}
}

func (h *shareHistory) produce() int {
	n := 1 + h.random.IntN(12)
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Value: []byte("v")}
	}
	if err := h.cl.ProduceSync(h.t.Context(), records...).FirstErr(); err != nil {
		h.t.Fatal(err)
	}
	return n
}

func (h *shareHistory) run() string {
	for range shareHistoryOps {
		m := h.members[h.random.IntN(len(h.members))]
		switch k := h.random.IntN(100); {
		case k < 45:
			h.fetch(m)
		case k < 95:
			h.acknowledge(m)
		default:
			h.close(m)
		}
	}
	h.out.WriteString("end\n")
	for _, m := range h.members {
		_ = m.c.Close()
	}
	_ = h.admin.Close()
	return h.out.String()
}

func (h *shareHistory) fetch(m *historyMember) {
	r := kmsg.NewPtrShareFetchRequest()
	r.Version = 2
	r.GroupID, r.MemberID, r.ShareSessionEpoch = &h.group, &m.name, m.epoch
	r.MinBytes, r.MaxBytes, r.MaxRecords, r.BatchSize, r.ShareAcquireMode = 1, 1<<20, int32(1+h.random.IntN(40)), int32(1+h.random.IntN(30)), int8(h.random.IntN(2))
	if !h.loaded {
		h.loaded, r.MaxWaitMillis = true, 5000 // the first one waits for the state to be loaded
	}
	t := kmsg.NewShareFetchRequestTopic()
	t.TopicID = h.topic
	t.Partitions = append(t.Partitions, kmsg.NewShareFetchRequestTopicPartition())
	r.Topics = append(r.Topics, t)
	resp := m.c.mustAsk(h.t, r).(*kmsg.ShareFetchResponse)
	fmt.Fprintf(&h.out, "%s fetches %d in %d mode %d: error %d", m.name, r.MaxRecords, r.BatchSize, r.ShareAcquireMode, resp.ErrorCode)
	if resp.ErrorCode == 0 {
		m.epoch++
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			fmt.Fprintf(&h.out, " %d acquired", p.ErrorCode)
			for _, a := range p.AcquiredRecords {
				fmt.Fprintf(&h.out, " %d-%dx%d", a.FirstOffset, a.LastOffset, a.DeliveryCount)
				m.have = append(m.have, [2]int64{a.FirstOffset, a.LastOffset})
			}
			h.out.WriteString(" batches")
			for rest := p.Records; len(rest) > 0; {
				b, err := record.ParseHeader(rest)
				if err != nil {
					h.t.Fatal(err)
				}
				fmt.Fprintf(&h.out, " %d", b.BaseOffset)
				rest = rest[b.SizeInBytes:]
			}
		}
	}
	h.out.WriteByte('\n')
}

// choose picks a range: one that the member has or had, a part of one, or any.
func (h *shareHistory) choose(m *historyMember) (first, last int64) {
	k := h.random.IntN(10)
	if k == 0 || len(m.have) == 0 {
		first = int64(h.random.IntN(h.end))
		return first, first + int64(h.random.IntN(20))
	}
	i := h.random.IntN(len(m.have))
	first, last = m.have[i][0], m.have[i][1]
	if k < 6 {
		m.have = append(m.have[:i], m.have[i+1:]...)
		return first, last
	}
	first += int64(h.random.IntN(int(last - first + 1)))
	return first, first + int64(h.random.IntN(int(last-first+1)))
}

func (h *shareHistory) acknowledge(m *historyMember) {
	if m.epoch == 0 {
		return
	}
	r := kmsg.NewPtrShareAcknowledgeRequest()
	r.Version = 2
	r.GroupID, r.MemberID, r.ShareSessionEpoch, r.IsRenewAck = &h.group, &m.name, m.epoch, true
	t, p := kmsg.NewShareAcknowledgeRequestTopic(), kmsg.NewShareAcknowledgeRequestTopicPartition()
	t.TopicID = h.topic
	b := kmsg.NewShareAcknowledgeRequestTopicPartitionAcknowledgementBatch()
	b.FirstOffset, b.LastOffset = h.choose(m)
	n := int64(1)
	if h.random.IntN(2) == 0 {
		n = b.LastOffset - b.FirstOffset + 1
	}
	for range n {
		b.AcknowledgeTypes = append(b.AcknowledgeTypes, []int8{0, 1, 1, 1, 2, 2, 3, 4}[h.random.IntN(8)])
	}
	p.AcknowledgementBatches = append(p.AcknowledgementBatches, b)
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	resp := m.c.mustAsk(h.t, r).(*kmsg.ShareAcknowledgeResponse)
	if resp.ErrorCode == 0 {
		m.epoch++
	}
	fmt.Fprintf(&h.out, "%s acknowledges %d-%d %v: error %d", m.name, b.FirstOffset, b.LastOffset, b.AcknowledgeTypes, resp.ErrorCode)
	for _, t := range resp.Topics {
		fmt.Fprintf(&h.out, " %d", t.Partitions[0].ErrorCode)
	}
	h.out.WriteByte('\n')
}

func (h *shareHistory) close(m *historyMember) {
	r := kmsg.NewPtrShareAcknowledgeRequest()
	r.Version = 2
	r.GroupID, r.MemberID, r.ShareSessionEpoch = &h.group, &m.name, -1
	resp := m.c.mustAsk(h.t, r).(*kmsg.ShareAcknowledgeResponse)
	fmt.Fprintf(&h.out, "%s closes: error %d\n", m.name, resp.ErrorCode)
	m.epoch, m.have = 0, nil
	time.Sleep(h.pause)
}
