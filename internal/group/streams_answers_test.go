package group

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// streamsStep is one step of a conversation with Apache Kafka 4.4.0: a request (its body in hex) and the answer, with the
// topics that there were; a pause; a change of the number of standby copies; or, last, the records that Kafka wrote.
type streamsStep struct {
	Step              string
	Key, Version      int16
	Request, Response string
	Topics            []struct {
		Name, ID   string
		Partitions int
	}
	Sleep, Standbys int
	Records         []string
}

func streamsSteps(t *testing.T) []streamsStep {
	t.Helper()
	f, err := os.Open("testdata/streams.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []streamsStep
	for dec := json.NewDecoder(z); dec.More(); {
		var x streamsStep
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// setTopics puts the topics of a step in place and tells the coordinator of those that are new.
func (h *host) setTopics(s streamsStep) {
	d := &metadata.Delta{}
	for _, t := range s.Topics {
		if h.topics.ByName(t.Name) != nil {
			continue
		}
		var id record.UUID
		if n, err := hex.Decode(id[:], []byte(t.ID)); err != nil || n != len(id) {
			h.t.Fatal(n, err)
		}
		x := &metadata.Topic{Name: t.Name, ID: id, Partitions: make([]*metadata.Partition, t.Partitions)}
		h.topics.mu.Lock()
		h.topics.topics = append(h.topics.topics, x)
		h.topics.mu.Unlock()
		d.CreatedTopics = append(d.CreatedTopics, x)
	}
	h.Publish(d, nil)
}

// answerStreams carries out the request of a step.
func (h *host) answerStreams(s streamsStep) kmsg.Response {
	h.t.Helper()
	req := kmsg.RequestForKey(s.Key)
	req.SetVersion(s.Version)
	if err := req.ReadFrom(unhex(h.t, s.Request)); err != nil {
		h.t.Fatal(err)
	}
	c, ctx := Caller{ClientID: "rec", ClientHost: "/127.0.0.1"}, context.Background()
	switch req := req.(type) {
	case *kmsg.StreamsGroupHeartbeatRequest:
		return h.StreamsGroupHeartbeat(ctx, c, req)
	case *kmsg.StreamsGroupDescribeRequest:
		return h.StreamsGroupDescribe(ctx, c, req)
	case *kmsg.OffsetCommitRequest:
		return h.OffsetCommit(ctx, c, req)
	case *kmsg.DeleteGroupsRequest:
		return h.DeleteGroups(ctx, c, req)
	}
	h.t.Fatalf("a request of kind %d", s.Key)
	return nil
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// plain is the body of an answer in hex, without its texts and with the members in order.
func plain(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.StreamsGroupHeartbeatResponse:
		r.ErrorMessage = nil
		for i := range r.Status {
			r.Status[i].StatusDetail = ""
		}
	case *kmsg.StreamsGroupDescribeResponse:
		for i := range r.Groups {
			r.Groups[i].ErrorMessage = nil
			slices.SortFunc(r.Groups[i].Members, func(a, b kmsg.StreamsGroupDescribeResponseGroupMember) int {
				return strings.Compare(a.MemberID, b.MemberID)
			})
		}
	}
	return hex.EncodeToString(resp.AppendTo(nil))
}

// Step by step a streams application's members are answered as Apache Kafka 4.4.0 answered them, and the records that it
// wrote meanwhile are written, byte for byte but for the time of assignments: missing topics, two members, standby copies,
// a static member that goes and comes under another id, commits, topologies of other epochs, the wish to end, the
// interval and the initial delay of assignments.
func TestStreamsConversationWithKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := streamsSteps(t)
		h := newHost(t, nil)
		own := DefaultStreamsConfig()
		own.InitialDelay = time.Second
		h.env.streamsConfig = func(string) StreamsConfig { return own }
		asked := 0
		for _, s := range steps {
			switch {
			case s.Sleep > 0:
				time.Sleep(time.Duration(s.Sleep) * time.Millisecond)
			case s.Standbys > 0:
				own.Standbys = s.Standbys
			case s.Request != "":
				asked++
				h.setTopics(s)
				synctest.Wait()
				want := kmsg.ResponseForKey(s.Key)
				want.SetVersion(s.Version)
				if err := want.ReadFrom(unhex(t, s.Response)); err != nil {
					t.Fatal(s.Step, err)
				}
				if got, want := plain(h.answerStreams(s)), plain(want); got != want {
					t.Errorf("%s:\n got %s\nwant %s", s.Step, got, want)
				}
			}
		}
		if asked < 100 {
			t.Errorf("%d requests, want more than 100", asked)
		}
		h.compareStreams(steps[len(steps)-1].Records)
		h.Close()
	})
}

// compareStreams compares what was written about streams groups with what Kafka wrote.
func (h *host) compareStreams(kafka []string) {
	h.t.Helper()
	var want, got []string
	for _, line := range kafka {
		key, value, _ := strings.Cut(line, " ")
		if k, v, ok := streamsRecord(unhex(h.t, key), unhex(h.t, value)); ok {
			want = append(want, k+" "+v)
		}
	}
	for _, r := range h.records("rec") {
		if k, v, ok := streamsRecord(r.Key, r.Value); ok {
			got = append(got, k+" "+v)
		}
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			h.t.Errorf("record %d is missing: %s", i, want[i])
		case i >= len(want):
			h.t.Errorf("record %d is one too many: %s", i, got[i])
		case got[i] != want[i]:
			h.t.Errorf("record %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
	if len(want) < 100 {
		h.t.Errorf("%d records to compare with, want more than 100", len(want))
	}
}

// streamsRecord is a record in hex if it is one of a streams group; its time of assignment, if it has one, is 1.
func streamsRecord(key, value []byte) (k, v string, ok bool) {
	recordType, _, found := keyOf(key)
	if !found || kindOf(recordType) != streamsKind {
		return "", "", false
	}
	if x, _, err := stored.DecodeValue(value, recordType, stored.NewGroupValue); err == nil {
		if m, is := x.(*stored.StreamsGroupTargetAssignmentMetadataValue); is && m.AssignmentTimestamp != 0 {
			m.AssignmentTimestamp = 1
			value = stored.AppendValue(nil, m, 0)
		}
	}
	return hex.EncodeToString(key), hex.EncodeToString(value), true
}
