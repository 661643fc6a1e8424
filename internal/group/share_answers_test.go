package group

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// shareStep is one step of a conversation with Apache Kafka 4.4.0: a request (its body in hex) and the answer, with the
// topics that there were; a pause; or, last, the records that Kafka wrote.
type shareStep struct {
	Step              string
	Key, Version      int16
	Request, Response string
	Topics            []struct {
		Name, ID   string
		Partitions int
	}
	Sleep   int
	Records []string
}

// shareStepTime is how long whoever recorded the conversation waited after each request.
const shareStepTime = 150 * time.Millisecond

func shareSteps(t *testing.T) []shareStep {
	t.Helper()
	f, err := os.Open("testdata/share.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []shareStep
	for dec := json.NewDecoder(z); dec.More(); {
		var x shareStep
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// follow makes the topics those of a step, and tells the coordinator what has changed.
func (h *host) follow(s shareStep) {
	h.t.Helper()
	d := &metadata.Delta{}
	next := map[string]*metadata.Topic{}
	for _, t := range s.Topics {
		var id record.UUID
		if n, err := hex.Decode(id[:], []byte(t.ID)); err != nil || n != len(id) {
			h.t.Fatal(n, err)
		}
		next[t.Name] = &metadata.Topic{Name: t.Name, ID: id, Partitions: make([]*metadata.Partition, t.Partitions)}
	}
	h.topics.mu.Lock()
	topics := h.topics.topics[:1:1] // the offsets topic
	for _, old := range h.topics.topics[1:] {
		x := next[old.Name]
		switch {
		case x == nil || x.ID != old.ID:
			d.DeletedTopics = append(d.DeletedTopics, old)
		case len(x.Partitions) != len(old.Partitions):
			d.ChangedPartitions = append(d.ChangedPartitions, metadata.ChangedPartition{Topic: x.Name})
			fallthrough
		default:
			topics = append(topics, x)
			delete(next, old.Name)
		}
	}
	for _, x := range next {
		topics = append(topics, x)
		d.CreatedTopics = append(d.CreatedTopics, x)
	}
	h.topics.topics = topics
	h.topics.mu.Unlock()
	h.Publish(d, nil)
}

// answerShare carries out the request of a step.
func (h *host) answerShare(s shareStep) kmsg.Response {
	h.t.Helper()
	req := kmsg.RequestForKey(s.Key)
	req.SetVersion(s.Version)
	if err := req.ReadFrom(unhex(h.t, s.Request)); err != nil {
		h.t.Fatal(err)
	}
	c, ctx := Caller{ClientID: "rec", ClientHost: "/127.0.0.1"}, context.Background()
	switch req := req.(type) {
	case *kmsg.ShareGroupHeartbeatRequest:
		return h.ShareGroupHeartbeat(ctx, c, req)
	case *kmsg.ShareGroupDescribeRequest:
		return h.ShareGroupDescribe(ctx, c, req)
	case *kmsg.DescribeShareGroupOffsetsRequest:
		return h.DescribeShareGroupOffsets(ctx, c, req)
	case *kmsg.AlterShareGroupOffsetsRequest:
		return h.AlterShareGroupOffsets(ctx, c, req)
	case *kmsg.DeleteShareGroupOffsetsRequest:
		return h.DeleteShareGroupOffsets(ctx, c, req)
	case *kmsg.ListGroupsRequest:
		return h.ListGroups(ctx, c, req)
	case *kmsg.OffsetCommitRequest:
		return h.OffsetCommit(ctx, c, req)
	case *kmsg.DeleteGroupsRequest:
		return h.DeleteGroups(ctx, c, req)
	}
	h.t.Fatalf("a request of kind %d", s.Key)
	return nil
}

// part is what is compared of some partitions of a topic: all of them, or how many. Which ones of several that are alike
// somebody gets follows Kafka's hash tables.
func (s shareStep) part(id [16]byte, partitions []int32) []int32 {
	for _, t := range s.Topics {
		if t.ID == hex.EncodeToString(id[:]) && t.Partitions == len(partitions) {
			return slices.Sorted(slices.Values(partitions))
		}
	}
	return []int32{int32(-len(partitions))}
}

// plain is an answer as text, without its texts, and in order where Kafka follows its hash tables.
func (s shareStep) plain(t *testing.T, resp kmsg.Response) string {
	t.Helper()
	switch r := resp.(type) {
	case *kmsg.ShareGroupHeartbeatResponse:
		r.ErrorMessage = nil
		if a := r.Assignment; a != nil {
			a.TopicPartitions = slices.DeleteFunc(a.TopicPartitions, func(x kmsg.ShareGroupHeartbeatResponseAssignmentTopicPartition) bool { return len(x.Partitions) == 0 })
			slices.SortFunc(a.TopicPartitions, func(a, b kmsg.ShareGroupHeartbeatResponseAssignmentTopicPartition) int {
				return slices.Compare(a.TopicID[:], b.TopicID[:])
			})
			for i := range a.TopicPartitions {
				a.TopicPartitions[i].Partitions = s.part(a.TopicPartitions[i].TopicID, a.TopicPartitions[i].Partitions)
			}
		}
	case *kmsg.ListGroupsResponse:
		r.Groups = slices.DeleteFunc(r.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group == "warm" })
	case *kmsg.ShareGroupDescribeResponse:
		for i := range r.Groups {
			r.Groups[i].ErrorMessage = nil
			slices.SortFunc(r.Groups[i].Members, func(a, b kmsg.ShareGroupDescribeResponseGroupMember) int {
				return strings.Compare(a.MemberID, b.MemberID)
			})
			for j := range r.Groups[i].Members {
				m := &r.Groups[i].Members[j]
				slices.Sort(m.SubscribedTopicNames)
				m.Assignment.TopicPartitions = slices.DeleteFunc(m.Assignment.TopicPartitions, func(x kmsg.ShareGroupDescribeResponseGroupMemberAssignmentTopicPartition) bool {
					return len(x.Partitions) == 0
				})
				for k := range m.Assignment.TopicPartitions {
					x := &m.Assignment.TopicPartitions[k]
					x.Partitions = s.part(x.TopicID, x.Partitions)
				}
				slices.SortFunc(m.Assignment.TopicPartitions, func(a, b kmsg.ShareGroupDescribeResponseGroupMemberAssignmentTopicPartition) int {
					return strings.Compare(a.Topic, b.Topic)
				})
			}
		}
		slices.SortFunc(r.Groups, func(a, b kmsg.ShareGroupDescribeResponseGroup) int { return strings.Compare(a.GroupID, b.GroupID) })
	case *kmsg.DescribeShareGroupOffsetsResponse:
		for i := range r.Groups {
			r.Groups[i].ErrorMessage = nil
			slices.SortFunc(r.Groups[i].Topics, func(a, b offsetsOfTopic) int { return strings.Compare(a.Topic, b.Topic) })
			for _, t := range r.Groups[i].Topics {
				slices.SortFunc(t.Partitions, func(a, b offsetsOfPartition) int { return int(a.Partition - b.Partition) })
			}
		}
	case *kmsg.AlterShareGroupOffsetsResponse:
		r.ErrorMessage = nil
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorMessage = nil
			}
		}
	case *kmsg.DeleteShareGroupOffsetsResponse:
		r.ErrorMessage = nil
		for i := range r.Topics {
			r.Topics[i].ErrorMessage = nil
		}
	}
	b, err := json.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "[]", "null")
}

// Step by step members of share groups, and who administers them, are answered as Apache Kafka 4.4.0 answered them, and
// the records that it wrote meanwhile are written: members that come and go, read more and less and nothing that exists,
// fall silent, are too many; topics that grow, go and come again; offsets that are altered and deleted; ids that belong to
// other groups.
func TestShareConversationWithKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := shareSteps(t)
		h, _ := newShareHost(t, func(s *Settings) { s.ShareMaxSize = 5 })
		h.env.shareConfig = func(string) ShareConfig {
			return ShareConfig{SessionTimeout: 6 * time.Second, HeartbeatInterval: time.Second, AssignmentInterval: time.Second}
		}
		asked := 0
		for _, s := range steps {
			switch {
			case s.Sleep > 0:
				time.Sleep(time.Duration(s.Sleep) * time.Millisecond)
			case s.Request != "":
				asked++
				h.follow(s)
				synctest.Wait()
				want := kmsg.ResponseForKey(s.Key)
				want.SetVersion(s.Version)
				if err := want.ReadFrom(unhex(t, s.Response)); err != nil {
					t.Fatal(s.Step, err)
				}
				if got, want := s.plain(t, h.answerShare(s)), s.plain(t, want); got != want {
					t.Errorf("%s:\n got %s\nwant %s", s.Step, got, want)
				}
				time.Sleep(shareStepTime)
				synctest.Wait()
			}
		}
		if asked < 100 {
			t.Errorf("%d requests, want more than 100", asked)
		}
		time.Sleep(15 * time.Second) // while the records were read, the last members were not heard of any more
		synctest.Wait()
		h.compareShares(steps[len(steps)-1].Records)
		h.Close()
	})
}

// compareShares compares what was written about share groups with what Kafka wrote.
func (h *host) compareShares(kafka []string) {
	h.t.Helper()
	var want, got []string
	add := func(to *[]string, key, value []byte) {
		if line, ok := shareRecord(h.t, key, value); ok && (len(*to) == 0 || (*to)[len(*to)-1] != line) { // Kafka repeats some
			*to = append(*to, line)
		}
	}
	for _, line := range kafka {
		key, value, _ := strings.Cut(line, " ")
		var v []byte
		if value != "-" {
			v = unhex(h.t, value)
		}
		add(&want, unhex(h.t, key), v)
	}
	for p := range int32(hostPartitions) {
		for _, r := range h.recordsOf(p) {
			add(&got, r.Key, r.Value)
		}
	}
	byGroup(want)
	byGroup(got)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			h.t.Errorf("record %d is missing: %s", i, want[i])
		case i >= len(want):
			h.t.Errorf("record %d is one too many: %s", i, got[i])
		case got[i] != want[i]:
			h.t.Fatalf("record %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
	if len(want) < 100 {
		h.t.Errorf("%d records to compare with, want more than 100", len(want))
	}
}

// byGroup puts the records of each group together, in their order.
func byGroup(lines []string) {
	slices.SortStableFunc(lines, func(a, b string) int {
		x, _, _ := strings.Cut(a, " ")
		y, _, _ := strings.Cut(b, " ")
		return strings.Compare(x, y)
	})
}

// shareRecord is a record as text if it is one of a share group: the group, the key in hex, the value. Times of assignments
// are 1, topics and names are in order, partitions are counted.
func shareRecord(t testing.TB, key, value []byte) (string, bool) {
	t.Helper()
	recordType, group, found := keyOf(key)
	if !found || kindOf(recordType) != shareKind || group == "warm" {
		return "", false
	}
	if value == nil {
		return group + " " + hex.EncodeToString(key) + " -", true
	}
	x, _, err := stored.DecodeValue(value, recordType, stored.NewGroupValue)
	if err != nil {
		t.Fatal(err)
	}
	switch v := x.(type) {
	case *stored.ShareGroupTargetAssignmentMetadataValue:
		v.AssignmentTimestamp = min(v.AssignmentTimestamp, 1)
	case *stored.ShareGroupMemberMetadataValue:
		slices.Sort(v.SubscribedTopicNames)
	case *stored.ShareGroupTargetAssignmentMemberValue: // the answers tell which partitions
		n := 0
		for _, t := range v.TopicPartitions {
			n += len(t.Partitions)
		}
		x = &stored.ShareGroupTargetAssignmentMetadataValue{AssignmentEpoch: int32(n)}
	case *stored.ShareGroupCurrentMemberAssignmentValue:
		n := 0
		for _, t := range v.AssignedPartitions {
			n += len(t.Partitions)
		}
		v.AssignedPartitions = nil
		group += " " + strconv.Itoa(n)
	case *stored.ShareGroupStatePartitionMetadataValue:
		for _, list := range [][]stored.ShareGroupStatePartitionMetadataValueTopicPartitionsInfo{v.InitializingTopics, v.InitializedTopics} {
			slices.SortFunc(list, func(a, b stored.ShareGroupStatePartitionMetadataValueTopicPartitionsInfo) int {
				return compareID(a.TopicID, b.TopicID)
			})
		}
		slices.SortFunc(v.DeletingTopics, func(a, b stored.ShareGroupStatePartitionMetadataValueTopicInfo) int {
			return compareID(a.TopicID, b.TopicID)
		})
	}
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return group + " " + hex.EncodeToString(key) + " " + strings.ReplaceAll(string(text), "[]", "null"), true
}

func compareID(a, b record.UUID) int { return slices.Compare(a[:], b[:]) }
