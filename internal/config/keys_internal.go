package config

// internalRows holds broker keys that are accepted but not described, as Kafka 4.4.0 defines them.
var internalRows = []row{
	{"controller.performance.always.log.threshold.ms", Long, "2000", ReadOnly, atLeast(0), "An event of the controller that takes longer is always logged."},
	{"controller.performance.sample.period.ms", Long, "60000", ReadOnly, atLeast(100), "How often the controller reports its slow events."},
	{"follower.replication.throttled.rate", Long, none, ClusterWide, atLeast(0), "Bytes a second that throttled partitions may be copied with; without a value there is no limit."},
	{"group.consumer.assignor.offload.enable", Boolean, "true", ClusterWide, nil, "Works assignments of consumer groups out in the background."},
	{"group.consumer.regex.refresh.interval.ms", Int, "600000", ReadOnly, atLeast(10000), "How often subscriptions by pattern are matched anew."},
	{"group.share.assignor.offload.enable", Boolean, "true", ClusterWide, nil, "Works assignments of share groups out in the background."},
	{"group.share.dlq.manager.class.name", String, "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager", ReadOnly, nil, "Java class that writes the dead-letter queues of share groups."},
	{"group.share.initialize.retry.interval.ms", Int, "30000", ReadOnly, atLeast(1), "How often the start of a share partition is tried again."},
	{"group.share.persister.class.name", String, "org.apache.kafka.server.share.persister.DefaultStatePersister", ReadOnly, nil, "Java class that keeps the state of share groups."},
	{"group.streams.acceptable.recovery.lag", Long, "10000", ReadOnly, atLeast(0), "How far behind a task may be and still count as caught up."},
	{"group.streams.assignor.offload.enable", Boolean, "true", ClusterWide, nil, "Works assignments of streams groups out in the background."},
	{"group.streams.max.warmup.replicas", Int, "20", ReadOnly, atLeast(0), "Most warm-up tasks that a streams group may set."},
	{"group.streams.min.task.offset.interval.ms", Int, "15000", ReadOnly, atLeast(1), "Least that a streams group may set as report interval."},
	{"group.streams.num.warmup.replicas", Int, "2", ReadOnly, atLeast(0), "Tasks that may be warmed up at a time before they move."},
	{"group.streams.task.offset.interval.ms", Int, "60000", ReadOnly, atLeast(1), "How often members report the offsets of their tasks."},
	{"internal.metadata.delete.delay.millis", Long, "60000", ReadOnly, nil, "How long a deleted snapshot stays on disk."},
	{"internal.metadata.log.segment.bytes", Int, none, ReadOnly, nil, "Size of metadata segments in tests."},
	{"internal.metadata.max.batch.size.in.bytes", Int, "8388608", ReadOnly, nil, "Largest batch of the metadata log."},
	{"leader.replication.throttled.rate", Long, none, ClusterWide, atLeast(0), "Bytes a second that throttled partitions may be read with by followers; without a value there is no limit."},
	{"log.initial.task.delay.ms", Long, "30000", ReadOnly, atLeast(0), "How long after the start the first background work on logs waits."},
	{"producer.id.expiration.check.interval.ms", Int, "600000", ReadOnly, atLeast(1), "How often idle producers are searched for."},
	{"remote.log.index.file.cache.ttl.ms", Long, "900000", ReadOnly, atLeast(-1), "How long a cached index of a remote segment is kept unused."},
	{"remote.log.manager.task.retry.backoff.max.ms", Long, "30000", ReadOnly, atLeast(1), "Longest pause after failed tiering tasks."},
	{"remote.log.manager.task.retry.backoff.ms", Long, "500", ReadOnly, atLeast(1), "First pause after a failed tiering task."},
	{"remote.log.manager.task.retry.jitter", Double, "0.2", ReadOnly, fraction(0, 0.5), "Share of the pause that is random."},
	{"replica.alter.log.dirs.io.max.bytes.per.second", Long, none, ClusterWide, atLeast(0), "Bytes a second that partitions may be moved with between log directories; without a value there is no limit."},
	{"server.max.startup.time.ms", Long, "9223372036854775807", ReadOnly, atLeast(0), "How long a start may take before it is given up."},
	{"share.coordinator.cold.partition.snapshot.interval.ms", Int, "300000", ReadOnly, atLeast(1), "How often the state of quiet share partitions is written in full."},
	{"share.coordinator.state.topic.prune.interval.ms", Int, "300000", ReadOnly, atLeast(1), "How often old records of __share_group_state are deleted."},
	{"unclean.leader.election.interval.ms", Long, "300000", ReadOnly, atLeast(1), "How often partitions without a leader are searched for such an election."},
	{"unstable.api.versions.enable", Boolean, "false", ReadOnly, nil, "Lists request versions that are still being made."},
	{"unstable.feature.versions.enable", Boolean, "false", ReadOnly, nil, "Lets feature levels be used that are still being made."},
}

// internalTopicRows holds topic keys that are accepted but not described, as Kafka 4.4.0 defines them.
var internalTopicRows = []row{
	{"internal.segment.bytes", Int, none, Anywhere, nil, "Segment size without a lower limit, for tests."},
}

// internalGroupRows holds group keys that are accepted but not described, as Kafka 4.4.0 defines them.
var internalGroupRows = []row{
	{"consumer.assignor.offload.enable", Boolean, "true", Anywhere, nil, "Works assignments of this consumer group out in the background."},
	{"share.assignor.offload.enable", Boolean, "true", Anywhere, nil, "Works assignments of this share group out in the background."},
	{"streams.acceptable.recovery.lag", Long, "10000", Anywhere, atLeast(0), "How far behind a task may be and still count as caught up."},
	{"streams.assignor.offload.enable", Boolean, "true", Anywhere, nil, "Works assignments of this streams group out in the background."},
	{"streams.num.warmup.replicas", Int, "2", Anywhere, atLeast(0), "Tasks that may be warmed up at a time before they move."},
	{"streams.task.offset.interval.ms", Int, "60000", Anywhere, atLeast(1), "How often members report the offsets of their tasks."},
}
