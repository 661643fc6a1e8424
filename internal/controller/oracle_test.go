package controller

import (
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// question is a request and what Apache Kafka 4.4.0 answered to it, with ids, texts and error codes written so
// that they are the same in every run: "T:name" is the id of a topic, "(text)" any message.
type question struct {
	Q       string `json:"q"`
	API     string `json:"api"`
	Version int16  `json:"version"`
	Ask     string `json:"ask"`
	Answer  any    `json:"answer"`
}

// prepare does what was done between the recorded questions without being recorded.
func (n *node) prepare(q string) {
	switch {
	case strings.HasPrefix(q, "delete topics/ordinary v"):
		n.create("ans-dt-"+q[len(q)-1:], 1)
	case q == "delete topics/name and id v6":
		n.create("ans-dt-id", 1)
	case q == "delete topics/twice v3":
		n.create("ans-dt-twice", 1)
	case q == "create partitions/one more v0":
		n.create("ans-cp", 1)
	}
}

func TestAnswersEqualKafka(t *testing.T) {
	f, err := os.Open("testdata/answers.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, nil)
	ids := map[string]record.UUID{}
	asked := 0
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		n.prepare(q.Q)
		for topic := range n.store.Image().Topics.All() {
			ids[topic.Name] = topic.ID
		}
		resp := n.ask(q, ids)
		for topic := range n.store.Image().Topics.All() {
			ids[topic.Name] = topic.ID
		}
		got, want := plain(t, resp, ids), normal(q.Answer)
		if !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			t.Errorf("%s: asked %s\n got %s\nwant %s", q.Q, q.Ask, a, b)
		}
		asked++
	}
	if lines.Err() != nil || asked != 163 {
		t.Errorf("%d questions, %v", asked, lines.Err())
	}
}

// ask decodes the question, answers it, and sends the answer through its encoding at the version.
func (n *node) ask(q question, ids map[string]record.UUID) kmsg.Response {
	key := map[string]int16{"CreateTopics": 19, "DeleteTopics": 20, "CreatePartitions": 37}[q.API]
	req := kmsg.RequestForKey(key)
	var fields map[string]any
	if err := json.Unmarshal([]byte(q.Ask), &fields); err != nil {
		n.t.Fatal(err)
	}
	binaryIDs(fields, ids)
	text, err := json.Marshal(fields)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := json.Unmarshal(text, req); err != nil {
		n.t.Fatal(err)
	}
	req.SetVersion(q.Version)
	back := kmsg.RequestForKey(key)
	back.SetVersion(q.Version)
	if err := back.ReadFrom(req.AppendTo(nil)); err != nil {
		n.t.Fatal(err)
	}
	var resp kmsg.Response
	switch r := back.(type) {
	case *kmsg.CreateTopicsRequest:
		resp = n.c.CreateTopics(r)
	case *kmsg.DeleteTopicsRequest:
		resp = n.c.DeleteTopics(r)
	case *kmsg.CreatePartitionsRequest:
		resp = n.c.CreatePartitions(r)
	}
	if resp.GetVersion() != q.Version {
		n.t.Fatalf("%s: the answer has version %d", q.Q, resp.GetVersion())
	}
	read := kmsg.ResponseForKey(key)
	read.SetVersion(q.Version)
	if err := read.ReadFrom(resp.AppendTo(nil)); err != nil {
		n.t.Fatal(err)
	}
	// Ids of topics that were only validated are in the answer alone.
	if c, ok := read.(*kmsg.CreateTopicsResponse); ok {
		for _, topic := range c.Topics {
			if topic.TopicID != [16]byte{} {
				ids[topic.Topic] = topic.TopicID
			}
		}
	}
	return read
}

// binaryIDs replaces topic ids in text by arrays of numbers, which is what encoding/json wants for [16]byte.
func binaryIDs(v any, ids map[string]record.UUID) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			text, ok := e.(string)
			if k != "TopicID" || !ok {
				binaryIDs(e, ids)
				continue
			}
			var id record.UUID
			if name, ok := strings.CutPrefix(text, "$id:"); ok {
				id = ids[name]
			} else {
				_, _ = hex.Decode(id[:], []byte(text))
			}
			v[k] = id
		}
	case []any:
		for _, e := range v {
			binaryIDs(e, ids)
		}
	}
}

// plain is a response in the form of the recorded answers.
func plain(t *testing.T, resp kmsg.Response, ids map[string]record.UUID) any {
	text, err := json.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	topics, _ := v["Topics"].([]any)
	for _, e := range topics {
		e := e.(map[string]any)
		delete(e, "UnknownTags")
		if e["ErrorMessage"] != nil {
			e["ErrorMessage"] = "(text)"
		}
		for _, k := range []string{"ErrorCode", "ConfigErrorCode"} {
			if code, ok := e[k].(float64); ok {
				e[k] = strconv.Itoa(int(code))
			}
		}
		if raw, ok := e["TopicID"].([]any); ok {
			e["TopicID"] = idText(raw, ids)
		}
		configs, _ := e["Configs"].([]any)
		for _, c := range configs {
			delete(c.(map[string]any), "UnknownTags")
		}
		sortBy(configs, "Name")
	}
	sortBy(topics, "Topic")
	if topics == nil {
		return map[string]any{"Topics": nil}
	}
	return map[string]any{"Topics": topics}
}

func idText(raw []any, ids map[string]record.UUID) string {
	var id record.UUID
	for i, b := range raw {
		id[i] = byte(b.(float64))
	}
	for name, known := range ids {
		if known == id {
			return "T:" + name
		}
	}
	return hex.EncodeToString(id[:])
}

func sortBy(list []any, key string) {
	slices.SortFunc(list, func(a, b any) int {
		return strings.Compare(fmt.Sprint(a.(map[string]any)[key]), fmt.Sprint(b.(map[string]any)[key]))
	})
}

// normal strips names from recorded error codes ("36 TOPIC_ALREADY_EXISTS") and sorts.
func normal(v any) any {
	topics, _ := v.(map[string]any)["Topics"].([]any)
	for _, e := range topics {
		e := e.(map[string]any)
		for _, k := range []string{"ErrorCode", "ConfigErrorCode"} {
			if code, ok := e[k].(string); ok {
				e[k], _, _ = strings.Cut(code, " ")
			}
		}
		configs, _ := e["Configs"].([]any)
		sortBy(configs, "Name")
	}
	sortBy(topics, "Topic")
	return v
}
