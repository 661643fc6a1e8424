package controller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
)

// update asks for one level and returns the error code.
func (n *node) update(name string, level int16, kind int8, validateOnly bool) int16 {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version, req.ValidateOnly = 2, validateOnly
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType = name, level, kind
	req.FeatureUpdates = append(req.FeatureUpdates, f)
	return n.c.UpdateFeatures(req).ErrorCode
}

// Every step either is refused with INVALID_UPDATE_VERSION or changes the level, and what is changed outlives a restart.
func TestUpdateFeatures(t *testing.T) {
	n := newNode(t, nil)
	for _, step := range []struct {
		name  string
		level int16
		kind  int8
		ok    bool
	}{
		{metadata.TxnVersionFeature, 1, upgrade, false},
		{metadata.TxnVersionFeature, 1, safeDowngrade, true},
		{metadata.TxnVersionFeature, 2, safeDowngrade, false},
		{metadata.TxnVersionFeature, 2, upgrade, true},
		{metadata.TxnVersionFeature, 3, upgrade, false},
		{metadata.TxnVersionFeature, 0, unsafeDowngrade, true},
		{metadata.GroupVersionFeature, 0, safeDowngrade, true},
		{metadata.GroupVersionFeature, -1, safeDowngrade, false},
		{metadata.ShareVersionFeature, 1, safeDowngrade, true},
		{metadata.MetadataVersionFeature, 32, safeDowngrade, false},
		{metadata.MetadataVersionFeature, 32, unsafeDowngrade, false},
		{metadata.MetadataVersionFeature, 34, upgrade, false},
		{metadata.KRaftVersionFeature, 0, safeDowngrade, false},
		{metadata.KRaftVersionFeature, 1, upgrade, true},
		{metadata.ELRVersionFeature, 0, safeDowngrade, true},
		{metadata.ELRVersionFeature, 1, upgrade, true},
		{"no.version", 0, safeDowngrade, false},
		{metadata.StreamsVersionFeature, 0, 0, false},
	} {
		before := n.store.Image()
		want := kerr.InvalidUpdateVersion.Code
		if step.ok {
			want = 0
		}
		if got := n.update(step.name, step.level, step.kind, true); got != want {
			t.Errorf("%s %d by %d, validated only: %d, want %d", step.name, step.level, step.kind, got, want)
		}
		if n.store.Image() != before {
			t.Errorf("%s %d: validating changed something", step.name, step.level)
		}
		if got := n.update(step.name, step.level, step.kind, false); got != want {
			t.Errorf("%s %d by %d: %d, want %d", step.name, step.level, step.kind, got, want)
		}
		if step.ok && step.name != metadata.KRaftVersionFeature && n.store.Image().Features[step.name] != step.level {
			t.Errorf("%s is at %d, want %d", step.name, n.store.Image().Features[step.name], step.level)
		}
	}
	want := n.store.Image().Features
	n.restart(true)
	for name, level := range want {
		if got := n.store.Image().Features[name]; got != level {
			t.Errorf("after a restart %s is at %d, want %d", name, got, level)
		}
	}
}

// One bad level spoils them all.
func TestUpdateFeaturesIsAtomic(t *testing.T) {
	n := newNode(t, nil)
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 2
	for name, level := range map[string]int16{metadata.StreamsVersionFeature: 0, metadata.GroupVersionFeature: 9} {
		f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		f.Feature, f.MaxVersionLevel, f.UpgradeType = name, level, safeDowngrade
		req.FeatureUpdates = append(req.FeatureUpdates, f)
	}
	before := n.store.Image()
	if resp := n.c.UpdateFeatures(req); resp.ErrorCode != kerr.InvalidUpdateVersion.Code {
		t.Error(resp.ErrorCode)
	}
	if n.store.Image() != before {
		t.Error("one of them was changed")
	}
}

// Switching eligible leader replicas on needs one min.insync.replicas for all brokers.
func TestELRNeedsOneMinInsyncReplicas(t *testing.T) {
	n := newNode(t, nil)
	n.update(metadata.ELRVersionFeature, 0, safeDowngrade, false)
	all, one := metadata.ConfigResource{Type: metadata.BrokerResource}, metadata.ConfigResource{Type: metadata.BrokerResource, Name: "1"}
	value := "1"
	if err := n.c.AlterConfigRecords(all, map[string]*string{minInsyncReplicas: nil}); err != nil {
		t.Fatal(err)
	}
	if err := n.c.AlterConfigRecords(one, map[string]*string{minInsyncReplicas: &value}); err != nil {
		t.Fatal(err)
	}
	if code := n.update(metadata.ELRVersionFeature, 1, upgrade, false); code != 0 {
		t.Fatal(code)
	}
	i := n.store.Image()
	if i.Config(all)[minInsyncReplicas] != "1" || i.Config(one) != nil {
		t.Errorf("cluster %v, broker %v", i.Config(all), i.Config(one))
	}
}

// A directory formatted for metadata.version 25 goes up level by level to the newest; records and restarts follow.
func TestMetadataVersionUpgrade(t *testing.T) {
	for _, from := range []int16{metadata.MinMetadataVersion, 16, 25} {
		n := newNodeAt(t, from)
		for level := from + 1; level <= metadata.MaxMetadataVersion; level++ {
			if code := n.update(metadata.MetadataVersionFeature, level, upgrade, false); code != 0 {
				t.Fatalf("from %d to %d: %d", from, level, code)
			}
			n.create("t", 1)
			if err := n.drop("t"); err != nil {
				t.Fatal(err)
			}
		}
		n.restart(true)
		if got := n.store.Image().MetadataVersion(); got != metadata.MaxMetadataVersion {
			t.Errorf("from %d: it is at %d", from, got)
		}
	}
}

// What quotas and credentials were set outlives a restart.
func TestQuotasAndCredentialsOutliveARestart(t *testing.T) {
	n := newNode(t, nil)
	alter := kmsg.NewPtrAlterClientQuotasRequest()
	alter.Entries = []kmsg.AlterClientQuotasRequestEntry{{
		Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user"}, {Type: "client-id", Name: kmsg.StringPtr("c")}},
		Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "request_percentage", Value: 12.5}},
	}}
	if resp := n.c.AlterClientQuotas(t.Context(), alter); resp.Entries[0].ErrorCode != 0 {
		t.Fatal(resp.Entries)
	}
	scram := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	scram.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "u", Mechanism: 1, Iterations: 4096, Salt: []byte("s"), SaltedPassword: []byte("p")}}
	if resp := n.c.AlterScramCredentials(scram); resp.Results[0].ErrorCode != 0 {
		t.Fatal(resp.Results)
	}
	n.restart(true)
	i := n.store.Image()
	if got := i.ClientQuota(metadata.QuotaEntity{"client-id": kmsg.StringPtr("c"), "user": nil})["request_percentage"]; got != 12.5 {
		t.Errorf("the quota is %v", got)
	}
	if c := i.ScramCredential("u", 1); c == nil || c.Iterations != 4096 || len(c.StoredKey) != 32 || len(c.ServerKey) != 32 {
		t.Errorf("the credential is %v", c)
	}
}

// drop deletes a topic.
func (n *node) drop(name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 1, []string{name}
	return kerr.ErrorForCode(n.c.DeleteTopics(req).Topics[0].ErrorCode)
}
