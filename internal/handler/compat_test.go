package handler

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var update = flag.Bool("update", false, "write docs/compat.md")

// kafkaVersions is what a single Kafka 4.4.0 node (broker and controller) lists in ApiVersions to a client, under
// Kafka's names, which are not always kmsg's.
var kafkaVersions = []struct {
	key      int16
	name     string
	min, max int16
}{
	{0, "Produce", 0, 13}, {1, "Fetch", 4, 18}, {2, "ListOffsets", 1, 11}, {3, "Metadata", 0, 13},
	{8, "OffsetCommit", 2, 10}, {9, "OffsetFetch", 1, 10}, {10, "FindCoordinator", 0, 6}, {11, "JoinGroup", 0, 9},
	{12, "Heartbeat", 0, 4}, {13, "LeaveGroup", 0, 5}, {14, "SyncGroup", 0, 5}, {15, "DescribeGroups", 0, 6},
	{16, "ListGroups", 0, 5}, {17, "SaslHandshake", 0, 1}, {18, "ApiVersions", 0, 5}, {19, "CreateTopics", 2, 7},
	{20, "DeleteTopics", 1, 6}, {21, "DeleteRecords", 0, 2}, {22, "InitProducerId", 0, 5},
	{23, "OffsetForLeaderEpoch", 2, 4}, {24, "AddPartitionsToTxn", 0, 5}, {25, "AddOffsetsToTxn", 0, 4},
	{26, "EndTxn", 0, 5}, {27, "WriteTxnMarkers", 1, 2}, {28, "TxnOffsetCommit", 0, 6}, {29, "DescribeAcls", 1, 3},
	{30, "CreateAcls", 1, 3}, {31, "DeleteAcls", 1, 3}, {32, "DescribeConfigs", 1, 4}, {33, "AlterConfigs", 0, 2},
	{34, "AlterReplicaLogDirs", 1, 2}, {35, "DescribeLogDirs", 1, 5}, {36, "SaslAuthenticate", 0, 2},
	{37, "CreatePartitions", 0, 3}, {38, "CreateDelegationToken", 1, 3}, {39, "RenewDelegationToken", 1, 2},
	{40, "ExpireDelegationToken", 1, 2}, {41, "DescribeDelegationToken", 1, 3}, {42, "DeleteGroups", 0, 3},
	{43, "ElectLeaders", 0, 2}, {44, "IncrementalAlterConfigs", 0, 1}, {45, "AlterPartitionReassignments", 0, 1},
	{46, "ListPartitionReassignments", 0, 0}, {47, "OffsetDelete", 0, 0}, {48, "DescribeClientQuotas", 0, 1},
	{49, "AlterClientQuotas", 0, 1}, {50, "DescribeUserScramCredentials", 0, 0},
	{51, "AlterUserScramCredentials", 0, 0}, {55, "DescribeQuorum", 0, 2}, {57, "UpdateFeatures", 0, 2},
	{60, "DescribeCluster", 0, 2}, {61, "DescribeProducers", 0, 0}, {64, "UnregisterBroker", 0, 0},
	{65, "DescribeTransactions", 0, 0}, {66, "ListTransactions", 0, 2}, {68, "ConsumerGroupHeartbeat", 0, 1},
	{69, "ConsumerGroupDescribe", 0, 1}, {74, "ListConfigResources", 0, 1}, {75, "DescribeTopicPartitions", 0, 0},
	{76, "ShareGroupHeartbeat", 1, 1}, {77, "ShareGroupDescribe", 1, 1}, {78, "ShareFetch", 1, 2},
	{79, "ShareAcknowledge", 1, 2}, {80, "AddRaftVoter", 0, 1}, {81, "RemoveRaftVoter", 0, 0},
	{83, "InitializeShareGroupState", 0, 0}, {84, "ReadShareGroupState", 0, 0}, {85, "WriteShareGroupState", 0, 1},
	{86, "DeleteShareGroupState", 0, 0}, {87, "ReadShareGroupStateSummary", 0, 1}, {88, "StreamsGroupHeartbeat", 0, 1},
	{89, "StreamsGroupDescribe", 0, 1}, {90, "DescribeShareGroupOffsets", 0, 1}, {91, "AlterShareGroupOffsets", 0, 0},
	{92, "DeleteShareGroupOffsets", 0, 0}, {93, "StreamsGroupTopologyDescriptionUpdate", 0, 0},
	{94, "UnregisterController", 0, 0},
}

const compatFile = "../../docs/compat.md"

// docs/compat.md's table is what the routes say.
func TestCompatDocumentIsCurrent(t *testing.T) {
	old, err := os.ReadFile(compatFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- apis: generated, see internal/handler/compat_test.go -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", compatFile)
	}
	text := before + begin + "\n" + apiTable(new(Handler).table()) + "\n" + end + after
	if text == string(old) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./internal/handler -run TestCompatDocumentIsCurrent -update", compatFile)
	}
	if err := os.WriteFile(compatFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func apiTable(routes map[int16]route) string {
	var b strings.Builder
	b.WriteString("| key | API | listed | served | Kafka 4.4 |\n|---|---|---|---|---|\n")
	for _, k := range kafkaVersions {
		listed, served := "", ""
		if r, ok := routes[k.key]; ok {
			listed, served = versions(r.listed, r.max), versions(r.min, r.max)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", k.key, k.name, listed, served, versions(k.min, k.max))
	}
	return b.String()
}

func versions(min, max int16) string {
	if min == max {
		return fmt.Sprint(min)
	}
	return fmt.Sprintf("%d–%d", min, max)
}

// What is listed is what Kafka lists, or less of the newest; nothing is listed that Kafka does not have.
func TestListedVersionsAreKafkas(t *testing.T) {
	kafka := map[int16][2]int16{}
	for _, k := range kafkaVersions {
		kafka[k.key] = [2]int16{k.min, k.max}
	}
	for key, r := range new(Handler).table() {
		k, ok := kafka[key]
		switch {
		case !ok:
			t.Errorf("%s (%d) is served; Kafka does not list it", kmsg.NameForKey(key), key)
		case r.listed != k[0] || r.max > k[1] || r.max < r.listed:
			t.Errorf("%s (%d): lists %d to %d, Kafka %d to %d", kmsg.NameForKey(key), key, r.listed, r.max, k[0], k[1])
		}
		if r.serve == nil {
			t.Errorf("%s (%d): nobody serves it", kmsg.NameForKey(key), key)
		}
	}
}
