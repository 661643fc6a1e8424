package adopt

import (
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/internal/adopt/internal/adopttest"
	"github.com/samsalog/samsa/vfs"
)

// keptByKafka is what an Apache Kafka 4.4.0 with an authorizer and delegation tokens was told by its own tools.
func keptByKafka() []Kept {
	return []Kept{
		{What: "access control entries", Count: 4, Hidden: true, Each: []string{
			"ALLOW User:u from *: DESCRIBE on TOPIC logs- (PREFIXED)", "ALLOW User:u from *: READ on TOPIC logs- (PREFIXED)",
			"ALLOW User:u from *: WRITE on TRANSACTIONAL_ID t1 (LITERAL)", "DENY User:* from 10.0.0.2: ALL on CLUSTER kafka-cluster (LITERAL)",
		}},
		{What: "client quotas", Count: 3, Each: []string{
			"client-id (default), user u: producer_byte_rate=1000000 request_percentage=12.5", "ip 10.0.0.1: connection_creation_rate=7",
			"user (default): consumer_byte_rate=2000000",
		}},
		{What: "SCRAM credentials", Count: 2, Each: []string{"user s: SCRAM-SHA-256, 4096 iterations", "user s: SCRAM-SHA-512, 8192 iterations"}},
		{What: "delegation tokens", Count: 4, Hidden: true, Each: []string{
			"Gnmp9oGHTCmnB6fnw_ArXw of User:bob, requested by User:admin, renewed by nobody else, expires 2026-12-01T11:44:18Z, at the latest 2026-12-07T11:44:18Z",
			"TsuZhfaoQZmMARW7sU2Ngg of User:admin, requested by User:admin, renewed by User:bob, expires 2026-12-01T11:39:04Z, at the latest 2026-12-07T11:39:04Z",
			"YOL5H1zrSROhxzm1HV2HkQ of User:bob, requested by User:admin, renewed by nobody else, expires 2026-12-01T11:39:22Z, at the latest 2026-12-07T11:39:22Z",
			"dgdJC4vRSza57l2lKeU5iw of User:admin, requested by User:admin, renewed by User:bob, expires 2026-12-01T11:44:11Z, at the latest 2026-12-07T11:44:11Z",
		}},
		{What: "client metrics subscriptions", Count: 1, Each: []string{
			"m: interval.ms=60000 match=client_id=a.* metrics=org.apache.kafka.producer.,org.apache.kafka.consumer.",
		}},
	}
}

func compareKept(t *testing.T, when string, m *Metadata) {
	t.Helper()
	want := keptByKafka()
	if len(m.Kept) != len(want) {
		t.Fatalf("%s: %+v", when, m.Kept)
	}
	for i, k := range m.Kept {
		each := slices.Sorted(slices.Values(k.Each))
		if w := want[i]; k.What != w.What || k.Count != w.Count || k.Hidden != w.Hidden || !slices.Equal(each, w.Each) {
			t.Errorf("%s: %s (%d)\n%s\nwant %s (%d)\n%s", when, k.What, k.Count, strings.Join(each, "\n"), w.What, w.Count, strings.Join(w.Each, "\n"))
		}
	}
}

// What Samsa does not act on is told one by one, stays when a broker has served the directory, and is in the snapshots that
// take the place of the log.
func TestKept(t *testing.T) {
	m := vfs.NewMem()
	unpack(t, m, "kafka-4.4.0-security", "/data")
	r := look(t, m, "/data")
	compareKept(t, "as Kafka left it", r.Metadata)
	if n := len(r.Serve.Notes); n != 5 {
		t.Errorf("%q", r.Serve.Notes)
	}
	agrees(t, m, r)
	compareKept(t, "after serving", look(t, m, "/data").Metadata)
	adopttest.Churn(t, m, "/data")
	compareKept(t, "from a snapshot", look(t, m, "/data").Metadata)
}
