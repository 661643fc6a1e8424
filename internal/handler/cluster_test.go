package handler

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/group"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/internal/txn"
	"github.com/samsalog/samsa/record"
)

// clusterNode is a node that can answer the APIs about brokers and topics.
type clusterNode struct{ *configNode }

const (
	testHost = "broker.example"
	testPort = 19092
)

func newClusterNode(t *testing.T) clusterNode {
	n := clusterNode{newConfigNode(t)}
	n.broker(1, 0, "PLAINTEXT")
	n.h.deps.Groups = group.NewService(group.Options{Metadata: n.store.Image, Logger: n.h.deps.Logger})
	t.Cleanup(n.h.deps.Groups.Close)
	n.h.deps.CreateTransactionsTopic = func() error {
		_, err := n.h.deps.Controller.CreateTopic(txn.TransactionsTopic, 3, 1, nil)
		return err
	}
	n.h.deps.Transactions = txn.NewService(txn.Options{
		Topic: func() (txn.Topic, bool) {
			t := n.store.Image().Topics.ByName(txn.TransactionsTopic)
			if t == nil {
				return txn.Topic{}, false
			}
			return txn.Topic{ID: t.ID, Partitions: int32(len(t.Partitions))}, true
		},
		CreateTopic: n.h.deps.CreateTransactionsTopic,
	})
	t.Cleanup(n.h.deps.Transactions.Close)
	n.h.deps.CreateShareStateTopic = func() error {
		_, err := n.h.deps.Controller.CreateTopic(sharestate.StateTopic, 3, 1, nil)
		return err
	}
	n.h.deps.CreateOffsetsTopic = func() error {
		_, err := n.h.deps.Controller.CreateTopic(group.OffsetsTopic, 3, 1, nil)
		return err
	}
	return n
}

// broker registers a broker with one endpoint.
func (n clusterNode) broker(id int32, fenced int, listener string) {
	n.t.Helper()
	r := stored.NewRegisterBrokerRecord()
	r.BrokerID, r.Fenced, r.BrokerEpoch = id, fenced == 1, int64(n.store.Image().Offset)+1
	r.Rack = nil
	r.LogDirs = []record.UUID{{1: 9}}
	e := stored.NewRegisterBrokerRecordBrokerEndpoint()
	e.Name, e.Host, e.Port = listener, testHost, testPort
	r.EndPoints = append(r.EndPoints, e)
	n.append(&r)
}

// create makes a topic through the controller.
func (n clusterNode) create(name string, partitions int32) {
	n.t.Helper()
	if _, err := n.h.deps.Controller.CreateTopic(name, partitions, 1, nil); err != nil {
		n.t.Fatal(err)
	}
}

// placed makes a topic whose partitions are as given.
func (n clusterNode) placed(name string, partitions ...stored.PartitionRecord) {
	n.t.Helper()
	topic := stored.NewTopicRecord()
	topic.Name, topic.TopicID = name, record.UUID{3, 14: byte(n.store.Image().Topics.Len()), 15: 1}
	records := []stored.Message{&topic}
	for i := range partitions {
		partitions[i].TopicID, partitions[i].PartitionID = topic.TopicID, int32(i)
		records = append(records, &partitions[i])
	}
	n.append(records...)
}

// request builds a question's request; "$cluster" and "$id:topic" stand for what this node calls them.
func (n clusterNode) request(r recorded) kmsg.Request {
	n.t.Helper()
	image := n.store.Image()
	var ask any
	if r.Ask == "" {
		r.Ask = "{}"
	}
	if err := json.Unmarshal([]byte(r.Ask), &ask); err != nil {
		n.t.Fatal(err)
	}
	var replace func(x any) any
	replace = func(x any) any {
		switch x := x.(type) {
		case map[string]any:
			for k, v := range x {
				x[k] = replace(v)
			}
		case []any:
			for i, v := range x {
				x[i] = replace(v)
			}
		case string:
			if x == "$cluster" {
				return image.ClusterID
			}
			if name, ok := strings.CutPrefix(x, "$id:"); ok {
				return image.Topics.ByName(name).ID
			}
			if b, err := hex.DecodeString(x); err == nil && len(b) == 16 {
				return [16]byte(b)
			}
		}
		return x
	}
	text, err := json.Marshal(replace(ask))
	if err != nil {
		n.t.Fatal(err)
	}
	req := requestOf(n.t, r)
	if err := json.Unmarshal(text, req); err != nil {
		n.t.Fatal(err)
	}
	req.SetVersion(r.Version)
	return req
}

// requestOf returns the request of a question's API with the protocol's defaults.
func requestOf(t *testing.T, r recorded) kmsg.Request {
	for key := range int16(kmsg.MaxKey + 1) {
		if req := kmsg.RequestForKey(key); req != nil && kmsg.NameForKey(key) == r.API {
			if d, ok := req.(interface{ Default() }); ok {
				d.Default()
			}
			return req
		}
	}
	t.Fatalf("no API %s", r.API)
	return nil
}

// normalise puts the recordings' words for what differs between clusters.
func (n clusterNode) normalise(x any, field string) any {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			x[k] = n.normalise(v, k)
		}
	case []any:
		for i, v := range x {
			x[i] = n.normalise(v, field)
		}
	case string:
		image := n.store.Image()
		switch {
		case field == "ClusterID" && x == image.ClusterID:
			return "CLUSTER"
		case field == "Host" && x == testHost:
			return "BROKER"
		case field == "TopicID":
			id, _ := hex.DecodeString(x)
			if t := image.Topics.ByID(record.UUID(id)); t != nil {
				return "T:" + t.Name
			}
		}
	case int64:
		switch {
		case field == "Port" && x == testPort:
			return "BROKER"
		case field == "FinalizedFeaturesEpoch" && x >= 0:
			return "*"
		}
	}
	return x
}

// replayCluster asks the questions of a family and compares the answers, except those that skip says differ on
// purpose. want may change what is expected.
func (n clusterNode) replayCluster(family string, skip func(q string) bool, want func(answer map[string]any)) {
	n.t.Helper()
	asked := 0
	for _, r := range recordingsIn(n.t, "testdata/cluster_answers.jsonl.gz", family) {
		if skip(r.Q) {
			continue
		}
		asked++
		expected := r.Answer.(map[string]any)
		want(expected)
		got := n.normalise(tree(reflect.ValueOf(n.ask(n.request(r))).Elem(), ""), "")
		if g, w := jsonOf(got), jsonOf(expected); g != w {
			n.t.Errorf("%s %s\n got %s\nwant %s", r.Q, r.Ask, firstDifference(g, w), firstDifference(w, g))
		}
	}
	if asked < 10 {
		n.t.Errorf("only %d questions of %s", asked, family)
	}
}

func none(string) bool    { return false }
func asIs(map[string]any) {}

// V-10: ApiVersions lists, of what Kafka 4.4 lists, what is served, in the same versions; and all features.
func TestVersionsAnswers(t *testing.T) {
	n := newClusterNode(t)
	n.replayCluster("versions", none, func(answer map[string]any) {
		keep := func(list string, f func(m map[string]any) bool) {
			if l, ok := answer[list].([]any); ok {
				answer[list] = slices.DeleteFunc(l, func(x any) bool { return !f(x.(map[string]any)) })
			}
		}
		keep("ApiKeys", func(m map[string]any) bool {
			_, served := n.h.routes[int16(m["ApiKey"].(float64))]
			return served
		})
	})
}

func TestMetadataAnswers(t *testing.T) {
	n := newClusterNode(t)
	n.create("ans-md", 2)
	n.replayCluster("metadata", func(q string) bool {
		return strings.Contains(q, "auto-created") || strings.Contains(q, "first answer") // TestA05
	}, asIs)
}

func TestDescribeTopicPartitionsAnswers(t *testing.T) {
	n := newClusterNode(t)
	for _, name := range []string{"0", "13", "3", "4"} {
		n.create("ans-md-auto-"+name, 1)
	}
	n.create("ans-md", 2)
	n.create("ans-dtp-a", 3)
	n.create("ans-dtp-b", 2)
	n.replayCluster("partitions", none, asIs)
}

func TestDescribeClusterAnswers(t *testing.T) {
	newClusterNode(t).replayCluster("cluster", none, asIs)
}

// V-04: one key or several.
func TestFindCoordinatorAnswers(t *testing.T) {
	n := newClusterNode(t)
	n.create(group.OffsetsTopic, 3)
	n.replayCluster("coordinators", none, asIs)
}

// V-11: a client that expects another cluster or node is told to start anew; the next request is answered as ever.
func TestV11WrongClusterOrNode(t *testing.T) {
	n := newClusterNode(t)
	ask := func(cluster string, node int32) *kmsg.ApiVersionsResponse {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion, req.ClusterID, req.NodeID = 5, "a", "1", &cluster, node
		return n.ask(req).(*kmsg.ApiVersionsResponse)
	}
	right := n.store.Image().ClusterID
	if got := ask("other", 1); got.ErrorCode != 129 || len(got.ApiKeys) != 0 {
		t.Errorf("other cluster: %+v", got)
	}
	if got := ask(right, 2); got.ErrorCode != 129 || len(got.ApiKeys) != 0 {
		t.Errorf("other node: %+v", got)
	}
	if got := ask(right, 1); got.ErrorCode != 0 || len(got.ApiKeys) == 0 {
		t.Errorf("right node: %+v", got)
	}
}

// a topic that is created by asking for it is described, with its leader, in the same answer.
func TestA05AutoCreation(t *testing.T) {
	n := newClusterNode(t)
	for _, version := range []int16{0, 3, 4, 13} {
		name := "auto-" + string(rune('a'+version))
		req := metadataOf(version, name)
		req.AllowAutoTopicCreation = true
		got := n.ask(req).(*kmsg.MetadataResponse)
		if len(got.Topics) != 1 || got.Topics[0].ErrorCode != 0 || len(got.Topics[0].Partitions) != 1 || got.Topics[0].Partitions[0].Leader != 1 {
			t.Errorf("v%d: %+v", version, got.Topics)
		}
	}
	// Not when the client or the configuration does not want it, nor under a name that collides or is illegal.
	req := metadataOf(12, "unwanted", "auto.a")
	if got := n.ask(req).(*kmsg.MetadataResponse); got.Topics[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("created although it was not wanted: %+v", got.Topics)
	}
	n.create("with.dot", 1)
	req = metadataOf(12, "with_dot", "../x")
	req.AllowAutoTopicCreation = true
	got := n.ask(req).(*kmsg.MetadataResponse)
	if got.Topics[0].ErrorCode != kerr.UnknownTopicOrPartition.Code || got.Topics[1].ErrorCode != kerr.InvalidTopicException.Code {
		t.Errorf("names: %+v", got.Topics)
	}
	n.h.deps.Config = withProperty(t, "auto.create.topics.enable", "false")
	req = metadataOf(12, "off")
	req.AllowAutoTopicCreation = true
	if got := n.ask(req).(*kmsg.MetadataResponse); got.Topics[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("created although auto.create.topics.enable is false: %+v", got.Topics)
	}
}

// TestUnknownTopics: what was asked of Kafka 4.4 beside the recordings.
func TestUnknownTopics(t *testing.T) {
	n := newClusterNode(t)
	n.create("a", 1)
	n.create("b", 1)
	image := n.store.Image()
	req := metadataOf(13, "nope", "bad name", "__share_group_state", "__cluster_metadata", "b")
	for _, id := range []record.UUID{image.Topics.ByName("a").ID, {8: 1}, image.Topics.ByName("a").ID, {8: 1}} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		req.Topics = append(req.Topics, rt)
	}
	req.IncludeTopicAuthorizedOperations, req.AllowAutoTopicCreation = true, true
	n.h.deps.Config = withProperty(t, "auto.create.topics.enable", "false")
	got := map[string]kmsg.MetadataResponseTopic{}
	for _, topic := range n.ask(req).(*kmsg.MetadataResponse).Topics {
		name := "no name"
		if topic.Topic != nil {
			name = *topic.Topic
		}
		if _, twice := got[name]; twice {
			t.Errorf("%s is answered twice", name)
		}
		got[name] = topic
	}
	for name, want := range map[string]struct {
		code     int16
		internal bool
		ops      int32
	}{
		"nope": {3, false, 3576}, "bad name": {17, false, 3576}, "__share_group_state": {3, true, 3576}, "__cluster_metadata": {3, false, 3576},
		"a": {0, false, 3576}, "b": {0, false, 3576}, "no name": {100, false, -1 << 31},
	} {
		if g := got[name]; g.ErrorCode != want.code || g.IsInternal != want.internal || g.AuthorizedOperations != want.ops {
			t.Errorf("%s: %+v, want %+v", name, g, want)
		}
	}
}

// TestMetadataTopicIsNoTopic: the metadata log's name can never become a topic's.
func TestMetadataTopicIsNoTopic(t *testing.T) {
	n := newClusterNode(t)
	req := metadataOf(13, "__cluster_metadata")
	req.AllowAutoTopicCreation = true
	if got := n.ask(req).(*kmsg.MetadataResponse); got.Topics[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
		t.Errorf("%+v", got.Topics)
	}
}

// withProperty are the recordings' settings with one changed.
func withProperty(t *testing.T, key, value string) func() config.Layers {
	t.Helper()
	props := maps.Clone(recordedFile)
	props[key] = value
	static, _, err := config.Load(props)
	if err != nil {
		t.Fatal(err)
	}
	return func() config.Layers { return config.Layers{Static: static, NodeID: 1} }
}

// TestAutoCreationOfInternalTopics: topics of coordinators have settings of their own.
func TestAutoCreationOfInternalTopics(t *testing.T) {
	n := newClusterNode(t)
	req := metadataOf(12, group.OffsetsTopic, "__transaction_state", "__share_group_state")
	req.AllowAutoTopicCreation = true
	got := n.ask(req).(*kmsg.MetadataResponse)
	codes := map[string]int16{}
	for _, topic := range got.Topics {
		if !topic.IsInternal {
			t.Errorf("%s is not internal", *topic.Topic)
		}
		codes[*topic.Topic] = topic.ErrorCode
	}
	want := map[string]int16{group.OffsetsTopic: 0, "__transaction_state": 0, "__share_group_state": 0}
	if !maps.Equal(codes, want) {
		t.Errorf("codes %v", codes)
	}
	if topic := n.store.Image().Topics.ByName(group.OffsetsTopic); topic == nil || len(topic.Partitions) != 3 {
		t.Errorf("offsets topic %+v", topic)
	}
}

func metadataOf(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	for _, name := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &name
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// TestPartitionStates: leaders and replicas that are fenced, unknown, or on another listener.
func TestPartitionStates(t *testing.T) {
	n := newClusterNode(t)
	n.broker(2, 1, "PLAINTEXT") // fenced
	n.broker(3, 0, "OTHER")
	partition := func(leader int32, replicas ...int32) stored.PartitionRecord {
		p := stored.NewPartitionRecord()
		p.Leader, p.LeaderEpoch, p.Replicas, p.ISR = leader, 5, replicas, replicas
		return p
	}
	lost := partition(1, 1)
	lost.Directories = []record.UUID{{5: 5}} // not one of broker 1's
	n.placed("states", partition(1, 1, 2), partition(2, 2, 1), partition(3, 3, 1), partition(-1, 1, 9), partition(9, 9), lost)
	type state struct {
		code, leader int
		offline      []int32
	}
	const leaderGone, listener, replica = 5, 72, 9
	for version, want := range map[int16][]state{
		0: {{replica, 1, nil}, {leaderGone, -1, nil}, {leaderGone, -1, nil}, {leaderGone, -1, nil}, {leaderGone, -1, nil}, {0, 1, nil}},
		5: {{0, 1, []int32{2}}, {leaderGone, -1, []int32{2}}, {leaderGone, -1, []int32{3}}, {leaderGone, -1, []int32{9}}, {leaderGone, -1, []int32{9}}, {0, 1, []int32{1}}},
		9: {{0, 1, []int32{2}}, {leaderGone, -1, []int32{2}}, {listener, -1, []int32{3}}, {leaderGone, -1, []int32{9}}, {leaderGone, -1, []int32{9}}, {0, 1, []int32{1}}},
	} {
		got := n.ask(metadataOf(version, "states")).(*kmsg.MetadataResponse)
		if len(got.Brokers) != 1 || got.Brokers[0].NodeID != 1 {
			t.Errorf("v%d: brokers %+v", version, got.Brokers)
		}
		for i, p := range got.Topics[0].Partitions {
			if s := (state{int(p.ErrorCode), int(p.Leader), p.OfflineReplicas}); !reflect.DeepEqual(s, want[p.Partition]) {
				t.Errorf("v%d, partition %d: %+v, want %+v", version, i, s, want[p.Partition])
			}
			if version >= 7 && p.LeaderEpoch != 5 {
				t.Errorf("v%d, partition %d: leader epoch %d", version, i, p.LeaderEpoch)
			}
		}
	}
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version, req.IncludeFencedBrokers = 2, true
	if got := n.ask(req).(*kmsg.DescribeClusterResponse); len(got.Brokers) != 2 || got.Brokers[0].IsFenced || !got.Brokers[1].IsFenced {
		t.Errorf("brokers with fenced ones: %+v", got.Brokers)
	}
}
