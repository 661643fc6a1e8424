package samsa_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa"
	"github.com/samsalog/samsa/internal/testarchive"
	"github.com/samsalog/samsa/vfs"
)

// TestKeptByKafka: what an Apache Kafka 4.4.0 with an authorizer and delegation tokens has left, admin clients are told as by
// a Kafka without either that is started on the directory.
func TestKeptByKafka(t *testing.T) {
	mem := vfs.NewMem()
	testarchive.Unpack(t, mem, "internal/adopt/testdata/kafka-4.4.0-security.tar.zst", "/data")
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{"/data"}, Listen: "127.0.0.1:0", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, b)
	cl := clientOf(t, b)
	admin := kadm.NewClient(cl)
	quotas, err := admin.DescribeClientQuotas(t.Context(), false, []kadm.DescribeClientQuotaComponent{
		{Type: "user", MatchType: kmsg.QuotasMatchTypeAny},
	})
	got := map[string]float64{}
	for _, q := range quotas {
		for _, v := range q.Values {
			got[q.Entity.String()+" "+v.Key] = v.Value
		}
	}
	want := map[string]float64{
		"{client-id=<default>, user=u} producer_byte_rate": 1000000, "{client-id=<default>, user=u} request_percentage": 12.5,
		"{user=<default>} consumer_byte_rate": 2000000,
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("quotas: %v, %v", got, err)
	}
	scrams, err := admin.DescribeUserSCRAMs(t.Context())
	if s := scrams["s"]; err != nil || len(scrams) != 1 || !slices.Equal(s.CredInfos, []kadm.CredInfo{
		{Mechanism: kadm.ScramSha256, Iterations: 4096}, {Mechanism: kadm.ScramSha512, Iterations: 8192},
	}) {
		t.Errorf("SCRAM: %+v, %v", scrams, err)
	}
	clientMetrics(t, func(r kmsg.Request) kmsg.Response {
		resp, err := cl.Request(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	})
	acls := kmsg.NewPtrDescribeACLsRequest()
	acls.ResourceType, acls.ResourcePatternType, acls.Operation, acls.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	if resp, err := acls.RequestWith(t.Context(), cl); err != nil || resp.ErrorCode != kerr.SecurityDisabled.Code {
		t.Errorf("ACLs: %+v, %v", resp, err)
	}
	tokens := kmsg.NewPtrDescribeDelegationTokenRequest()
	if resp, err := tokens.RequestWith(t.Context(), cl); err != nil || resp.ErrorCode != kerr.DelegationTokenRequestNotAllowed.Code {
		t.Errorf("tokens: %+v, %v", resp, err)
	}
}

func clientMetrics(t *testing.T, ask func(kmsg.Request) kmsg.Response) {
	t.Helper()
	const subscription = kmsg.ConfigResourceType(16)
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = subscription, "m"
	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.Resources = append(describe.Resources, r)
	got := map[string]string{}
	for _, x := range ask(describe).(*kmsg.DescribeConfigsResponse).Resources {
		for _, c := range x.Configs {
			got[c.Name] = *c.Value
		}
	}
	want := map[string]string{"interval.ms": "60000", "match": "client_id=a.*", "metrics": "org.apache.kafka.producer.,org.apache.kafka.consumer."}
	if !maps.Equal(got, want) {
		t.Errorf("client metrics: %v", got)
	}
	list := kmsg.NewPtrListConfigResourcesRequest()
	list.ResourceTypes = []int8{int8(subscription)}
	if got := ask(list).(*kmsg.ListConfigResourcesResponse).ConfigResources; len(got) != 1 || got[0].Name != "m" {
		t.Errorf("client metrics: %+v", got)
	}
}
