package handler

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// like compares an answer with a recording, in which "*" and "UUID" stand for what differs from run to run.
func like(got, want any) bool {
	if want == "*" || want == "UUID" {
		return got != nil
	}
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for k, w := range want {
			if !like(g[k], w) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for i, w := range want {
			if !like(g[i], w) {
				return false
			}
		}
		return true
	}
	return jsonOf(got) == jsonOf(want)
}

// adminNode is a node with the topic that the recorded questions are about.
func adminNode(t *testing.T) clusterNode {
	n := clusterNode{newConfigNode(t)}
	if _, err := n.h.deps.Controller.Register(controller.Registration{
		Endpoints: []metadata.Endpoint{{Name: "PLAINTEXT", Host: testHost, Port: testPort}}, LogDirs: []record.UUID{{1: 9}},
	}); err != nil {
		t.Fatal(err)
	}
	n.create("ans-el", 1)
	return n
}

func (n clusterNode) replayAdmin(family string, least int, apis ...string) {
	n.t.Helper()
	asked := 0
	for _, r := range recordingsIn(n.t, "testdata/admin.jsonl.gz", family) {
		if len(apis) > 0 && !strings.Contains(strings.Join(apis, " "), r.API) {
			continue
		}
		asked++
		req := adminRequest(n.t, r)
		got := n.normalise(tree(reflect.ValueOf(n.ask(req)).Elem(), ""), "")
		if !like(got, r.Answer) {
			n.t.Errorf("%s %s\n got %s\nwant %s", r.Q, r.Ask, jsonOf(got), jsonOf(r.Answer))
		}
	}
	if asked < least {
		n.t.Errorf("only %d questions of %s", asked, family)
	}
}

// adminRequest finds the request under Kafka's name, which is not always kmsg's.
func adminRequest(t *testing.T, r recorded) kmsg.Request {
	if name, ok := map[string]string{
		"AlterPartitionReassignments": "AlterPartitionAssignments", "DescribeUserScramCredentials": "DescribeUserSCRAMCredentials",
		"AlterUserScramCredentials": "AlterUserSCRAMCredentials", "DescribeAcls": "DescribeACLs", "CreateAcls": "CreateACLs", "DeleteAcls": "DeleteACLs",
	}[r.API]; ok {
		r.API = name
	}
	req := requestOf(t, r)
	req.SetVersion(r.Version)
	var ask any
	if err := json.Unmarshal([]byte(r.Ask), &ask); err != nil {
		t.Fatal(err)
	}
	fill(reflect.ValueOf(req).Elem(), ask)
	return req
}

func TestElectionAndReassignmentAnswers(t *testing.T) { adminNode(t).replayAdmin("elections", 36) }

func TestSecurityAnswers(t *testing.T) { adminNode(t).replayAdmin("security", 115) }

func TestFeatureAnswers(t *testing.T) { adminNode(t).replayAdmin("cluster", 22, "UpdateFeatures") }

func TestVoterAnswers(t *testing.T) {
	adminNode(t).replayAdmin("cluster", 12, "UnregisterBroker", "UnregisterController", "AddRaftVoter", "RemoveRaftVoter")
}

func TestQuorumAnswers(t *testing.T) {
	n := adminNode(t)
	for _, r := range recordingsIn(t, "testdata/admin.jsonl.gz", "cluster") {
		if r.API != "DescribeQuorum" {
			continue
		}
		got := tree(reflect.ValueOf(n.ask(adminRequest(t, r))).Elem(), "").(map[string]any)
		if nodes := got["Nodes"]; nodes != nil {
			e := n.store.ControllerEndpoint()
			l := nodes.([]any)[0].(map[string]any)["Listeners"].([]any)[0].(map[string]any)
			if l["Host"] != e.Host || l["Port"] != int64(e.Port) {
				t.Errorf("the voter's listener is %v, registered is %v", l, e)
			}
			l["Host"], l["Port"] = "BROKER", "OTHER"
		}
		if !like(got, r.Answer) {
			t.Errorf("%s\n got %s\nwant %s", r.Q, jsonOf(got), jsonOf(r.Answer))
		}
	}
}
