package group

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerAnswering asks the questions of the family "consumer groups", with what was asked between them.
type consumerAnswering struct {
	*answering
	// between is done before a question is asked.
	between map[string]func()
}

func (a *consumerAnswering) do(api, ask string, version int16) kmsg.Response {
	return a.dispatch(a.build(question{Q: "between", API: api, Version: version, Ask: ask}))
}

const (
	ownsBoth = `{"TopicID":"$id:ans-cg","Partitions":[0,1]}`
	ownsOne  = `{"TopicID":"$id:ans-cg","Partitions":[0]}`
)

// settle beats until the assignment of a member has n partitions.
func (a *consumerAnswering) settle(member string, n int, owned string) {
	for range 20 {
		r := a.do("ConsumerGroupHeartbeat", fmt.Sprintf(
			`{"Group":"ans-cg","MemberID":%q,"MemberEpoch":"$epoch:%s","RebalanceTimeoutMillis":30000,"SubscribedTopicNames":["ans-cg"],"Topics":[%s]}`,
			member, member, owned), 1).(*kmsg.ConsumerGroupHeartbeatResponse)
		if r.ErrorCode == 0 {
			a.vars["epoch:"+member] = fmtNumber(r.MemberEpoch)
		}
		if r.Assignment != nil && len(r.Assignment.Topics) == 1 && len(r.Assignment.Topics[0].Partitions) == n {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	a.h.t.Errorf("%s does not get %d partitions", member, n)
}

func (a *consumerAnswering) leaveAndDelete(groups ...string) {
	for _, g := range groups {
		a.do("ConsumerGroupHeartbeat", fmt.Sprintf(`{"Group":%q,"MemberID":"ans-a","MemberEpoch":-1,"RebalanceTimeoutMillis":-1}`, g), 1)
		wantCode(a.h.t, "delete "+g, a.h.deleteGroup(g), nil)
	}
}

// Every question of the family "consumer groups" is answered as Apache Kafka 4.4.0 answers it.
func TestConsumerAnswersOfKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		a := &consumerAnswering{answering: &answering{h: h, vars: map[string]any{}, symbols: map[string]string{}}}
		a.vars["id:ans-cg"] = [16]byte(h.topics.add("ans-cg", 2))
		a.vars["id:ans-cg-nope"] = [16]byte(bytes.Repeat([]byte{0xab}, 16))
		a.between = map[string]func(){
			"join with a made id v0": func() {
				a.leaveAndDelete("ans-cg-e1", "ans-cg-e2-0", "ans-cg-e2-1", "ans-cg-e3-0", "ans-cg-e3-1", "ans-cg-e4")
			},
			"A beats in full v1":           func() { a.settle("ans-a", 2, "") },
			"A commits v8":                 func() { a.vars["e"] = a.vars["epoch:ans-a"] },
			"B joins v1":                   func() { time.Sleep(1200 * time.Millisecond) },
			"A must give up one v1":        func() { a.settle("ans-a", 1, ownsBoth) },
			"A after giving up v1":         func() { a.settle("ans-a", 1, ownsOne); a.settle("ans-b", 1, "") },
			"describe an unknown group v0": func() { wantCode(t, "delete ans-cs", h.deleteGroup("ans-cs"), nil) },
			"describe a classic group v0": func() {
				a.do("OffsetCommit", `{"Group":"ans-cg-classic","Generation":-1,"Topics":[{"Topic":"ans-cg","TopicID":"$id:ans-cg","Partitions":[{"Partition":0,"Offset":1}]}]}`, 9)
			},
		}
		questions := readQuestions(t, "testdata/answers_consumer.jsonl.gz")
		for _, q := range questions {
			if f := a.between[q.Q]; f != nil {
				f()
			}
			resp := a.ask(q)
			a.keep(q.Q, resp)
			got := jsonOf(a.tree(resp))
			if made, ok := a.vars["made"].(string); ok {
				got = strings.ReplaceAll(got, made, "M20")
			}
			if want := jsonOf(q.Answer); got != want {
				t.Errorf("%s\n ask %.300s\n got %.900s\nwant %.900s", q.Q, q.Ask, got, want)
			}
		}
		if len(questions) != 120 {
			t.Errorf("%d questions, want 120", len(questions))
		}
		h.Close()
	})
}

// keep remembers what later questions name.
func (a *consumerAnswering) keep(q string, resp kmsg.Response) {
	v := reflect.ValueOf(resp).Elem()
	switch q {
	case "join with a made id v0":
		a.vars["made"] = *v.FieldByName("MemberID").Interface().(*string)
	case "A joins v1":
		a.vars["epoch:ans-a"] = fmtNumber(int32(v.FieldByName("MemberEpoch").Int()))
	case "B joins v1":
		a.vars["epoch:ans-b"] = fmtNumber(int32(v.FieldByName("MemberEpoch").Int()))
	}
}
