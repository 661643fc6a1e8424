package txn_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/vfs"
)

// broker is a whole broker, on files in memory.
type broker struct {
	*samsa.Broker
	fs vfs.FS
}

func newBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{fs: vfs.NewMem()}
	b.start(t, nil)
	t.Cleanup(func() { b.stop(t) })
	return b
}

func (b *broker) start(t testing.TB, more map[string]string) {
	t.Helper()
	props := map[string]string{
		"offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
		"group.initial.rebalance.delay.ms": "0", "num.partitions": "1",
	}
	for k, v := range more {
		props[k] = v
	}
	var err error
	b.Broker, err = samsa.Start(context.Background(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: b.fs, Properties: props})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *broker) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// rawConn is a connection of a client that sends what it is told, at the version it is told.
type rawConn struct {
	c           net.Conn
	correlation int32
}

func (b *broker) connect(t testing.TB) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", b.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &rawConn{c: c}
}

func (r *rawConn) ask(t testing.TB, req kmsg.Request) kmsg.Response {
	t.Helper()
	r.correlation++
	if err := r.c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, req, r.correlation)); err != nil {
		t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(r.c, size[:]); err != nil {
		t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r.c, body); err != nil {
		t.Fatal(err)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	head := 4
	if resp.IsFlexible() && req.Key() != 18 {
		head = 5
	}
	if err := resp.ReadFrom(body[head:]); err != nil {
		t.Fatal(err)
	}
	return resp
}

func (r *rawConn) createTopic(t testing.TB, name string, partitions int32) [16]byte {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	// Records of a fixed time long ago are followed by markers of now: they are to stay in one segment.
	topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "segment.ms", Value: kmsg.StringPtr("9223372036854775807")}}
	req.Version, req.TimeoutMillis, req.Topics = 7, 10000, append(req.Topics, topic)
	resp := r.ask(t, req).(*kmsg.CreateTopicsResponse)
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
	return resp.Topics[0].TopicID
}

// findCoordinators has the coordinators' topics made.
func (r *rawConn) findCoordinators(t testing.TB, key string) {
	t.Helper()
	for kind := range int8(2) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorType, req.CoordinatorKey = 3, kind, key
		if resp := r.ask(t, req).(*kmsg.FindCoordinatorResponse); resp.ErrorCode != 0 {
			t.Fatal(kerr.ErrorForCode(resp.ErrorCode))
		}
	}
}

// awaitLoaded waits until every partition of the transaction state has been read: before that, an id whose coordinator nobody
// looked for is answered COORDINATOR_LOAD_IN_PROGRESS.
func (r *rawConn) awaitLoaded(t testing.TB) {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if resp := r.ask(t, kmsg.NewPtrListTransactionsRequest()).(*kmsg.ListTransactionsResponse); resp.ErrorCode == 0 {
			return
		}
	}
	t.Fatal("the transaction state is not read")
}

// initProducer asks until a transactional id is ready, as clients do.
func (r *rawConn) initProducer(t testing.TB, id string, timeoutMs int32) *kmsg.InitProducerIDResponse {
	t.Helper()
	r.findCoordinators(t, id)
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = 5, &id, timeoutMs, -1, -1
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if resp := r.ask(t, req).(*kmsg.InitProducerIDResponse); resp.ErrorCode == 0 {
			return resp
		}
	}
	t.Fatalf("%s does not become ready", id)
	return nil
}

func (r *rawConn) describe(t testing.TB, id string) kmsg.DescribeTransactionsResponseTransactionState {
	t.Helper()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	return r.ask(t, req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0]
}

// awaitEnd waits until the markers of a decided transaction are written.
func (r *rawConn) awaitEnd(t testing.TB, id string) string {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if d := r.describe(t, id); d.ErrorCode == 0 && !strings.HasPrefix(d.State, "Prepare") {
			return d.State
		}
	}
	t.Fatalf("the transaction of %s does not end", id)
	return ""
}

// build makes the request of a question.
func (p *play) build(t *testing.T, q question) kmsg.Request {
	t.Helper()
	for key := range int16(100) {
		if req := kmsg.RequestForKey(key); req != nil && strings.EqualFold(kmsg.NameForKey(key), q.API) {
			v := reflect.ValueOf(req).Elem()
			setDefaults(v)
			dec := json.NewDecoder(strings.NewReader(q.Ask))
			dec.UseNumber()
			var tree any
			if err := dec.Decode(&tree); err != nil {
				t.Fatalf("%s: %v", q.Q, err)
			}
			p.fill(t, v, tree)
			req.SetVersion(q.Version)
			return req
		}
	}
	t.Fatalf("no API %s", q.API)
	return nil
}

func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(interface{ Default() }); ok {
		d.Default()
	}
}

func (p *play) fill(t *testing.T, v reflect.Value, x any) {
	if s, ok := x.(string); ok && strings.HasPrefix(s, "$") {
		x = p.vars[s[1:]]
	}
	switch v.Kind() {
	case reflect.Struct:
		for name, sub := range x.(map[string]any) {
			p.fill(t, v.FieldByName(name), sub)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.fill(t, v.Elem(), x)
	case reflect.Slice:
		if b, ok := x.(interface{ CheckCRC() error }); ok {
			v.SetBytes(reflect.ValueOf(b).Bytes())
			return
		}
		list := x.([]any)
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, sub := range list {
			if v.Index(i).Kind() == reflect.Struct {
				setDefaults(v.Index(i))
			}
			p.fill(t, v.Index(i), sub)
		}
	case reflect.Array, reflect.String, reflect.Bool:
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
	default:
		if n, ok := x.(json.Number); ok {
			i, err := n.Int64()
			if err != nil {
				t.Fatal(err)
			}
			v.SetInt(i)
			return
		}
		v.SetInt(reflect.ValueOf(x).Int())
	}
}

// restart stops the broker and starts it again on the same files.
func (b *broker) restart(t testing.TB) {
	t.Helper()
	b.restartWith(t, nil)
}

func (b *broker) restartWith(t testing.TB, more map[string]string) {
	t.Helper()
	b.stop(t)
	b.start(t, more)
}
