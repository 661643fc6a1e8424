package group

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// question is one recorded question to Apache Kafka 4.4.0 and its answer (testdata/answers.jsonl.gz): the
// request as a JSON object of kmsg's field names, "$x" for a value of an earlier answer, and the response with
// what differs from run to run replaced by symbols.
type question struct {
	Q       string
	API     string
	Version int16
	Ask     string
	Answer  any
}

func readQuestions(t *testing.T, file string) []question {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	for dec := json.NewDecoder(bufio.NewReader(z)); dec.More(); {
		var q question
		if err := dec.Decode(&q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// saves names the variables that the member id of an answer is kept in.
var saves = map[string]string{
	"join errors/static join v9":                     "m",
	"join errors/static rejoin without member id v9": "m2",
	"two members/A asks for an id v9":                "a",
	"two members/B asks for an id v9":                "b",
}

// early lists questions that are asked before the one that they stand for here, because their answers wait for
// what comes later.
var early = map[string]string{
	"two members/describe while preparing v6": "two members/B joins v9",
	"two members/A syncs generation 3 v5":     "two members/B syncs first v5",
}

// simpleGroups are deleted at this point of the recording, without a question.
const simpleGroups = "two members/describe a group made by a commit v6"

// Every question of the families "group life", "join errors" and "two members" is answered as Apache Kafka 4.4.0
// answers it, at all versions.
func TestAnswersOfKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, nil)
		a := &answering{h: h, vars: map[string]any{"none": "", "nobody": "nobody"}, symbols: map[string]string{}, waiting: map[string]chan kmsg.Response{}}
		for _, name := range []string{"ans-gl", "ans-g2", "ans-je"} {
			n := 2
			if name == "ans-je" {
				n = 1
			}
			a.vars["id:"+name] = [16]byte(h.topics.add(name, n))
		}
		a.vars["id:ans-g2-nope"] = [16]byte(bytes.Repeat([]byte{0xab}, 16))
		questions := readQuestions(t, "testdata/answers.jsonl.gz")
		byName := map[string]question{}
		for _, q := range questions {
			byName[q.Q] = q
		}
		for _, q := range questions {
			if other, ok := early[q.Q]; ok {
				a.start(byName[other])
				synctest.Wait()
			}
			got, want := a.tree(a.ask(q)), q.Answer
			if g, w := jsonOf(got), jsonOf(want); g != w {
				t.Errorf("%s\n ask %.300s\n got %.900s\nwant %.900s", q.Q, q.Ask, g, w)
			}
			if q.Q == simpleGroups {
				for v := 2; v <= 10; v++ {
					h.deleteGroup(fmt.Sprintf("ans-g2-simple-%d", v))
				}
			}
		}
		if len(questions) != 359 {
			t.Errorf("%d questions, want 359", len(questions))
		}
		h.Close()
	})
}

type answering struct {
	h       *host
	vars    map[string]any
	symbols map[string]string
	waiting map[string]chan kmsg.Response
}

// start asks a question whose answer waits.
func (a *answering) start(q question) {
	req := a.build(q)
	ch := make(chan kmsg.Response, 1)
	a.waiting[q.Q] = ch
	go func() { ch <- a.dispatch(req) }()
}

func (a *answering) ask(q question) kmsg.Response {
	var resp kmsg.Response
	if ch := a.waiting[q.Q]; ch != nil {
		resp = <-ch
	} else {
		resp = a.dispatch(a.build(q))
	}
	id := reflect.ValueOf(resp).Elem().FieldByName("MemberID")
	if name, ok := saves[q.Q]; ok {
		a.vars[name] = id.String()
	}
	if strings.HasPrefix(q.Q, "group life/") && q.API == "JoinGroup" {
		a.vars["member"] = id.String()
	}
	// What a client sees: encoded and decoded at the version.
	seen := resp.RequestKind().ResponseKind()
	seen.SetVersion(q.Version)
	if err := seen.ReadFrom(resp.AppendTo(nil)); err != nil {
		a.h.t.Errorf("%s: the response cannot be decoded: %v", q.Q, err)
	}
	return seen
}

func (a *answering) dispatch(req kmsg.Request) kmsg.Response {
	ctx, c, s := context.Background(), Caller{ClientID: "ans", ClientHost: "/127.0.0.1"}, a.h.Service
	switch r := req.(type) {
	case *kmsg.JoinGroupRequest:
		return s.JoinGroup(ctx, c, r)
	case *kmsg.SyncGroupRequest:
		return s.SyncGroup(ctx, c, r)
	case *kmsg.HeartbeatRequest:
		return s.Heartbeat(ctx, c, r)
	case *kmsg.LeaveGroupRequest:
		return s.LeaveGroup(ctx, c, r)
	case *kmsg.OffsetCommitRequest:
		return s.OffsetCommit(ctx, c, r)
	case *kmsg.OffsetFetchRequest:
		return s.OffsetFetch(ctx, c, r)
	case *kmsg.OffsetDeleteRequest:
		return s.OffsetDelete(ctx, c, r)
	case *kmsg.ListGroupsRequest:
		return s.ListGroups(ctx, c, r)
	case *kmsg.DescribeGroupsRequest:
		return s.DescribeGroups(ctx, c, r)
	case *kmsg.DeleteGroupsRequest:
		return s.DeleteGroups(ctx, c, r)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return s.ConsumerGroupHeartbeat(ctx, c, r)
	case *kmsg.ConsumerGroupDescribeRequest:
		return s.ConsumerGroupDescribe(ctx, c, r)
	}
	a.h.t.Fatalf("no method for %T", req)
	return nil
}

// build makes the request of a question, as it comes in at its version.
func (a *answering) build(q question) kmsg.Request {
	var req kmsg.Request
	for key := range int16(100) {
		if r := kmsg.RequestForKey(key); r != nil && kmsg.NameForKey(key) == q.API {
			req = r
		}
	}
	v := reflect.ValueOf(req).Elem()
	setDefaults(v)
	var tree any
	if q.Ask != "" {
		dec := json.NewDecoder(strings.NewReader(q.Ask))
		dec.UseNumber()
		if err := dec.Decode(&tree); err != nil {
			a.h.t.Fatalf("%s: %v", q.Q, err)
		}
		a.fill(v, tree)
	}
	req.SetVersion(q.Version)
	in := kmsg.RequestForKey(req.Key())
	in.SetVersion(q.Version)
	if err := in.ReadFrom(req.AppendTo(nil)); err != nil {
		a.h.t.Fatalf("%s: %v", q.Q, err)
	}
	return in
}

func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(interface{ Default() }); ok {
		d.Default()
	}
}

func (a *answering) fill(v reflect.Value, x any) {
	if s, ok := x.(string); ok && strings.HasPrefix(s, "$") {
		x = a.vars[s[1:]]
	}
	switch v.Kind() {
	case reflect.Struct:
		for name, sub := range x.(map[string]any) {
			a.fill(v.FieldByName(name), sub)
		}
	case reflect.Pointer:
		if x == nil {
			v.SetZero()
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		a.fill(v.Elem(), x)
	case reflect.Slice:
		a.fillSlice(v, x)
	case reflect.Array:
		v.Set(reflect.ValueOf(x))
	case reflect.String:
		v.SetString(x.(string))
	case reflect.Bool:
		v.SetBool(x.(bool))
	default:
		n, err := x.(json.Number).Int64()
		if err != nil {
			a.h.t.Fatal(err)
		}
		v.SetInt(n)
	}
}

func (a *answering) fillSlice(v reflect.Value, x any) {
	switch s := x.(type) {
	case nil:
		v.SetZero()
	case string:
		v.SetBytes([]byte(s))
	case []any:
		v.Set(reflect.MakeSlice(v.Type(), len(s), len(s)))
		for i, sub := range s {
			if v.Index(i).Kind() == reflect.Struct {
				setDefaults(v.Index(i))
			}
			a.fill(v.Index(i), sub)
		}
	}
}

// tree turns a response into the form of the recording.
func (a *answering) tree(resp kmsg.Response) any { return a.value(reflect.ValueOf(resp).Elem(), "") }

var uuidText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

func (a *answering) value(v reflect.Value, field string) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return a.value(v.Elem(), field)
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			switch name := v.Type().Field(i).Name; name {
			case "Version", "ThrottleMillis", "UnknownTags":
			default:
				m[name] = a.value(v.Field(i), name)
			}
		}
		return m
	case reflect.Array:
		return a.topicID(v.Interface().([16]byte))
	case reflect.Slice:
		return a.slice(v, field)
	case reflect.String:
		s := v.String()
		if field == "ErrorMessage" && s != "" {
			return "(text)"
		}
		return uuidText.ReplaceAllStringFunc(s, a.symbol)
	case reflect.Bool:
		return v.Bool()
	}
	if field == "ErrorCode" {
		if v.Int() == 0 {
			return "0"
		}
		return codeName(int16(v.Int()))
	}
	return v.Int()
}

// symbol names the generated ids in the order in which they are first seen.
func (a *answering) symbol(id string) string {
	if a.symbols[id] == "" {
		a.symbols[id] = fmt.Sprintf("M%d", len(a.symbols)+1)
	}
	return a.symbols[id]
}

func (a *answering) topicID(id [16]byte) string {
	for name, x := range a.vars {
		if x == any(id) && !strings.HasSuffix(name, "-nope") {
			return "T:" + strings.TrimPrefix(name, "id:")
		}
	}
	return hex.EncodeToString(id[:])
}

func (a *answering) slice(v reflect.Value, field string) any {
	switch {
	case v.IsNil():
		return nil
	case v.Type().Elem().Kind() == reflect.Uint8:
		return string(v.Bytes())
	}
	out := make([]any, v.Len())
	for i := range out {
		out[i] = a.value(v.Index(i), field)
	}
	sort.SliceStable(out, func(i, j int) bool { return jsonOf(out[i]) < jsonOf(out[j]) })
	return out
}

func jsonOf(x any) string {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func fmtNumber(n int32) json.Number { return json.Number(fmt.Sprint(n)) }
