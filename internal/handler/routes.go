package handler

import (
	"context"

	"github.com/samsalog/samsa/internal/wire"
)

// route is one API. What is served may begin earlier than what is listed: clients that take versions from a setting
// instead of asking still find what Apache Kafka 4 dropped, while those that ask see Kafka's own numbers.
type route struct {
	// min and max are the versions served.
	min, max int16
	// listed is the oldest version that ApiVersions names; max is the newest in both.
	listed int16
	serve  func(ctx context.Context, r *wire.Request) wire.Reply
}

// same is a route whose served and listed versions are those of Apache Kafka 4.4.
func same(min, max int16, serve func(context.Context, *wire.Request) wire.Reply) route {
	return route{min: min, max: max, listed: min, serve: serve}
}

// older is a route that is served from an older version than it is listed.
func older(min, listed, max int16, serve func(context.Context, *wire.Request) wire.Reply) route {
	return route{min: min, max: max, listed: listed, serve: serve}
}

// table is every API served on client listeners.
//
// Versions follow Apache Kafka 4.4. Served beyond it, for clients that pin old versions (KIP-896 dropped them):
// ListOffsets 0, OffsetCommit 0-1, OffsetFetch 0, CreateTopics 0-1, DeleteTopics 0, OffsetForLeaderEpoch 0-1,
// DescribeConfigs 0 and DescribeLogDirs 0. Not served: Fetch 0-3 and Produce 0-2, whose record formats are no longer
// written by anybody who could do without them, and which would need every batch converted.
func (h *Handler) table() map[int16]route {
	return map[int16]route{
		// librdkafka takes the oldest Produce version as the sign for which codecs may be used, so it is listed from 0.
		0:  {min: 3, max: 13, listed: 0, serve: h.produce},
		1:  same(4, 18, h.fetch),
		2:  older(0, 1, 11, h.listOffsets),
		3:  same(0, 13, h.metadata),
		8:  older(0, 2, 10, h.offsetCommit),
		9:  older(0, 1, 10, h.offsetFetch),
		10: same(0, 6, h.findCoordinator),
		11: same(0, 9, h.joinGroup),
		12: same(0, 4, h.heartbeat),
		13: same(0, 5, h.leaveGroup),
		14: same(0, 5, h.syncGroup),
		15: same(0, 6, h.describeGroups),
		16: same(0, 5, h.listGroups),
		18: same(0, 5, h.apiVersions),
		19: older(0, 2, 7, h.createTopics),
		20: older(0, 1, 6, h.deleteTopics),
		21: same(0, 2, h.deleteRecords),
		22: same(0, 5, h.initProducerID),
		23: older(0, 2, 4, h.offsetForLeaderEpoch),
		24: same(0, 5, h.addPartitionsToTxn),
		25: same(0, 4, h.addOffsetsToTxn),
		26: same(0, 5, h.endTxn),
		27: same(1, 2, h.writeTxnMarkers),
		28: same(0, 6, h.txnOffsetCommit),
		29: same(1, 3, h.describeACLs),
		30: same(1, 3, h.createACLs),
		31: same(1, 3, h.deleteACLs),
		32: older(0, 1, 4, h.describeConfigs),
		33: same(0, 2, h.alterConfigs),
		34: older(0, 1, 2, h.alterReplicaLogDirs),
		35: older(0, 1, 5, h.describeLogDirs),
		37: same(0, 3, h.createPartitions),
		38: same(1, 3, h.createDelegationToken),
		39: same(1, 2, h.renewDelegationToken),
		40: same(1, 2, h.expireDelegationToken),
		41: same(1, 3, h.describeDelegationToken),
		42: same(0, 3, h.deleteGroups),
		43: same(0, 2, h.electLeaders),
		44: same(0, 1, h.incrementalAlterConfigs),
		45: same(0, 1, h.alterPartitionReassignments),
		46: same(0, 0, h.listPartitionReassignments),
		47: same(0, 0, h.offsetDelete),
		48: same(0, 1, h.describeClientQuotas),
		49: same(0, 1, h.alterClientQuotas),
		50: same(0, 0, h.describeUserScramCredentials),
		51: same(0, 0, h.alterUserScramCredentials),
		55: same(0, 2, h.describeQuorum),
		57: same(0, 2, h.updateFeatures),
		60: same(0, 2, h.describeCluster),
		61: same(0, 0, h.describeProducers),
		64: same(0, 0, h.unregisterBroker),
		65: same(0, 0, h.describeTransactions),
		66: same(0, 2, h.listTransactions),
		68: same(0, 1, h.consumerGroupHeartbeat),
		69: same(0, 1, h.consumerGroupDescribe),
		74: same(0, 1, h.listConfigResources),
		75: same(0, 0, h.describeTopicPartitions),
		76: same(1, 1, h.shareGroupHeartbeat),
		77: same(1, 1, h.shareGroupDescribe),
		78: same(1, 2, h.shareFetch),
		79: same(1, 2, h.shareAcknowledge),
		80: same(0, 1, h.addRaftVoter),
		81: same(0, 0, h.removeRaftVoter),
		83: same(0, 0, h.initializeShareGroupState),
		84: same(0, 0, h.readShareGroupState),
		85: same(0, 1, h.writeShareGroupState),
		86: same(0, 0, h.deleteShareGroupState),
		87: same(0, 1, h.readShareGroupStateSummary),
		88: same(0, 1, h.streamsGroupHeartbeat),
		89: same(0, 1, h.streamsGroupDescribe),
		90: same(0, 1, h.describeShareGroupOffsets),
		91: same(0, 0, h.alterShareGroupOffsets),
		92: same(0, 0, h.deleteShareGroupOffsets),
		93: same(0, 0, h.streamsGroupTopologyDescriptionUpdate),
		94: same(0, 0, h.unregisterController),
	}
}
