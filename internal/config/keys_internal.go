package config

// internalRows holds broker keys that are accepted but not described, as Kafka 4.4.0 defines them.
var internalRows = []row{
	{"controller.performance.always.log.threshold.ms", Long, "2000", ReadOnly, atLeast(0), ""},
	{"controller.performance.sample.period.ms", Long, "60000", ReadOnly, atLeast(100), ""},
	{"follower.replication.throttled.rate", Long, "9223372036854775807", ClusterWide, atLeast(0), ""},
	{"group.consumer.assignor.offload.enable", Boolean, "true", ClusterWide, nil, ""},
	{"group.consumer.regex.refresh.interval.ms", Int, "600000", ReadOnly, atLeast(10000), ""},
	{"group.share.assignor.offload.enable", Boolean, "true", ClusterWide, nil, ""},
	{"group.share.dlq.manager.class.name", String, "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager", ReadOnly, nil, ""},
	{"group.share.initialize.retry.interval.ms", Int, "30000", ReadOnly, atLeast(1), ""},
	{"group.share.persister.class.name", String, "org.apache.kafka.server.share.persister.DefaultStatePersister", ReadOnly, nil, ""},
	{"group.streams.acceptable.recovery.lag", Long, "10000", ReadOnly, atLeast(0), ""},
	{"group.streams.assignor.offload.enable", Boolean, "true", ClusterWide, nil, ""},
	{"group.streams.max.warmup.replicas", Int, "20", ReadOnly, atLeast(0), ""},
	{"group.streams.min.task.offset.interval.ms", Int, "15000", ReadOnly, atLeast(1), ""},
	{"group.streams.num.warmup.replicas", Int, "2", ReadOnly, atLeast(0), ""},
	{"group.streams.task.offset.interval.ms", Int, "60000", ReadOnly, atLeast(1), ""},
	{"internal.metadata.delete.delay.millis", Long, "60000", ReadOnly, nil, ""},
	{"internal.metadata.log.segment.bytes", Int, none, ReadOnly, nil, ""},
	{"internal.metadata.max.batch.size.in.bytes", Int, "8388608", ReadOnly, nil, ""},
	{"leader.replication.throttled.rate", Long, "9223372036854775807", ClusterWide, atLeast(0), ""},
	{"log.initial.task.delay.ms", Long, "30000", ReadOnly, atLeast(0), ""},
	{"producer.id.expiration.check.interval.ms", Int, "600000", ReadOnly, atLeast(1), ""},
	{"remote.log.index.file.cache.ttl.ms", Long, "900000", ReadOnly, atLeast(-1), ""},
	{"remote.log.manager.task.retry.backoff.max.ms", Long, "30000", ReadOnly, atLeast(1), ""},
	{"remote.log.manager.task.retry.backoff.ms", Long, "500", ReadOnly, atLeast(1), ""},
	{"remote.log.manager.task.retry.jitter", Double, "0.2", ReadOnly, fraction(0, 0.5), ""},
	{"replica.alter.log.dirs.io.max.bytes.per.second", Long, "9223372036854775807", ClusterWide, atLeast(0), ""},
	{"server.max.startup.time.ms", Long, "9223372036854775807", ReadOnly, atLeast(0), ""},
	{"share.coordinator.cold.partition.snapshot.interval.ms", Int, "300000", ReadOnly, atLeast(1), ""},
	{"share.coordinator.state.topic.prune.interval.ms", Int, "300000", ReadOnly, atLeast(1), ""},
	{"unclean.leader.election.interval.ms", Long, "300000", ReadOnly, atLeast(1), ""},
	{"unstable.api.versions.enable", Boolean, "false", ReadOnly, nil, ""},
	{"unstable.feature.versions.enable", Boolean, "false", ReadOnly, nil, ""},
}

// internalTopicRows holds topic keys that are accepted but not described, as Kafka 4.4.0 defines them.
var internalTopicRows = []row{
	{"internal.segment.bytes", Int, none, Anywhere, nil, ""},
}

// internalGroupRows holds group keys that are accepted but not described, as Kafka 4.4.0 defines them.
var internalGroupRows = []row{
	{"consumer.assignor.offload.enable", Boolean, "true", Anywhere, nil, ""},
	{"share.assignor.offload.enable", Boolean, "true", Anywhere, nil, ""},
	{"streams.acceptable.recovery.lag", Long, "10000", Anywhere, atLeast(0), ""},
	{"streams.assignor.offload.enable", Boolean, "true", Anywhere, nil, ""},
	{"streams.num.warmup.replicas", Int, "2", Anywhere, atLeast(0), ""},
	{"streams.task.offset.interval.ms", Int, "60000", Anywhere, atLeast(1), ""},
}
