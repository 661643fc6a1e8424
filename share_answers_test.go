package samsa_test

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// shareAnswer is what an answer to ShareFetch or ShareAcknowledge says, as the recordings show it. Texts are only there or
// not, and of records only the first offsets of their batches are compared.
type shareAnswer struct {
	ErrorCode                    string
	AcquisitionLockTimeoutMillis int
	Topics                       []struct {
		TopicID    string
		Partitions []struct {
			Partition                       int
			ErrorCode, AcknowledgeErrorCode string
			ErrorMessage                    *string
			CurrentLeader                   struct{ LeaderID, LeaderEpoch int }
			AcquiredRecords                 []struct{ FirstOffset, LastOffset, DeliveryCount int }
			Records                         []struct{ Base int }
		}
	}
}

func (a shareAnswer) String() string {
	code := func(s string) string { n, _, _ := strings.Cut(s, " "); return n }
	s := fmt.Sprintf("error %s lock %d", code(a.ErrorCode), a.AcquisitionLockTimeoutMillis)
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			s += fmt.Sprintf("; %s-%d error %s text %t acknowledge %s leader %v acquired %v records %v", t.TopicID, p.Partition, code(p.ErrorCode),
				p.ErrorMessage != nil, code(p.AcknowledgeErrorCode), p.CurrentLeader, p.AcquiredRecords, p.Records)
		}
	}
	return s
}

// answerOf puts a response into the recordings' form.
func answerOf(t *testing.T, resp kmsg.Response, topic [16]byte) string {
	t.Helper()
	text, err := json.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	var a any
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	var turn func(x any, field string) any
	turn = func(x any, field string) any {
		switch x := x.(type) {
		case map[string]any:
			for k, v := range x {
				x[k] = turn(v, k)
			}
		case []any:
			if field == "TopicID" {
				var id [16]byte
				for i, b := range x {
					id[i] = byte(b.(float64))
				}
				if id == topic {
					return "T:ans-sh"
				}
				return hex.EncodeToString(id[:])
			}
			for i := range x {
				x[i] = turn(x[i], field)
			}
		case float64:
			if strings.HasSuffix(field, "ErrorCode") {
				return strconv.Itoa(int(x))
			}
		case nil:
			if field == "Records" || field == "AcquiredRecords" {
				return []any{}
			}
		}
		return x
	}
	a = turn(a, "")
	if f, ok := resp.(*kmsg.ShareFetchResponse); ok {
		for i, tp := range f.Topics {
			for j, p := range tp.Partitions {
				bases := []any{}
				for rest := p.Records; len(rest) > 0; {
					h, err := record.ParseHeader(rest)
					if err != nil {
						t.Fatal(err)
					}
					bases = append(bases, map[string]any{"base": int(h.BaseOffset)})
					rest = rest[h.SizeInBytes:]
				}
				a.(map[string]any)["Topics"].([]any)[i].(map[string]any)["Partitions"].([]any)[j].(map[string]any)["Records"] = bases
			}
		}
	}
	text, err = json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return shareAnswerOf(t, text)
}

func shareAnswerOf(t *testing.T, text []byte) string {
	t.Helper()
	var a shareAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a.String()
}

// TestShareAnswers asks what was asked of Apache Kafka 4.4.0, in the same order, and gets the same answers.
func TestShareAnswers(t *testing.T) {
	b := startBroker(t, map[string]string{"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1", "share.coordinator.state.topic.num.partitions": "1"})
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("ans-sh"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	createTopic(t, cl, "ans-sh", 1)
	for range 4 {
		three := []*kgo.Record{{Value: []byte("v0")}, {Value: []byte("v1")}, {Value: []byte("v2")}}
		if err := cl.ProduceSync(t.Context(), three...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	m := &shareMember{t: t, cl: cl, topic: topicID(t, cl, "ans-sh"), group: "ans-sh"}
	eventually(t, "the state is initialised", func() bool { return m.initialise(t.Context()) == nil })
	f, err := os.Open("testdata/share_answers.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	asked := 0
	c := dialRaw(t, b.Addr()) // a session ends with its connection
	for lines.Scan() {
		var r struct {
			Q, API, Ask string
			Version     int16
			Answer      json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		req := shareQuestion(t, r.API, r.Ask, m.topic)
		req.SetVersion(r.Version)
		resp := c.mustAsk(t, req)
		asked++
		if got, want := answerOf(t, resp, m.topic), shareAnswerOf(t, r.Answer); got != want {
			t.Errorf("%s\n got %s\nwant %s", r.Q, got, want)
		}
	}
	if asked != 27 {
		t.Error(asked, "questions")
	}
}

// shareQuestion is a recorded request with this cluster's topic id.
func shareQuestion(t *testing.T, api, ask string, topic [16]byte) kmsg.Request {
	t.Helper()
	var x map[string]any
	if err := json.Unmarshal([]byte(ask), &x); err != nil {
		t.Fatal(err)
	}
	topics, _ := x["Topics"].([]any)
	for _, e := range topics {
		id := topic
		if raw, err := hex.DecodeString(e.(map[string]any)["TopicID"].(string)); err == nil {
			id = [16]byte(raw)
		}
		e.(map[string]any)["TopicID"] = id
	}
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	var req kmsg.Request = kmsg.NewPtrShareFetchRequest()
	if api == "ShareAcknowledge" {
		req = kmsg.NewPtrShareAcknowledgeRequest()
	}
	if err := json.Unmarshal(text, req); err != nil {
		t.Fatal(err)
	}
	return req
}
