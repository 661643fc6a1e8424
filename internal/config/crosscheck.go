package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// crossCheck tests what no single value shows (KafkaConfig.validateValues, GroupCoordinatorConfig,
// ShareGroupConfig). All failures are returned together.
func crossCheck(l Layers) error {
	_, err := l.Listeners("localhost")
	return errors.Join(
		err, checkNode(l), checkLogs(l), checkCordoned(l), checkSockets(l), checkReplication(l), checkCoordinator(l),
		checkBounds(l, "group.consumer.", "session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"),
		checkBounds(l, "group.share.", "session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms",
			"delivery.count.limit", "record.lock.duration.ms", "partition.max.record.locks"),
		checkBounds(l, "group.streams.", "session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"),
	)
}

// require returns an error when ok is false.
func require(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func checkNode(l Layers) error {
	return require(!l.IsSet("node.id") || l.Int("node.id") == l.Int("broker.id"),
		"node.id (%d) and broker.id (%d) must be the same; broker.id is the old name", l.Int("node.id"), l.Int("broker.id"))
}

func checkLogs(l Layers) error {
	roll, jitter, retention := l.topicDefault("segment.ms").Int, l.topicDefault("segment.jitter.ms").Int, l.topicDefault("retention.ms").Int
	return errors.Join(
		require(roll >= 1, "log.roll.ms must be at least 1, not %d", roll),
		require(jitter >= 0, "log.roll.jitter.ms must be at least 0, not %d", jitter),
		require(retention != 0, "log.retention.ms must be -1 (unlimited) or at least 1"),
		checkDedupeBuffer(l),
	)
}

// checkDedupeBuffer holds log.cleaner.dedupe.buffer.size to more than 1 MiB for each cleaner thread.
func checkDedupeBuffer(l Layers) error {
	size, threads := l.Int64("log.cleaner.dedupe.buffer.size"), l.Int64("log.cleaner.threads")
	if threads < 1 {
		return fmt.Errorf("log.cleaner.threads must be at least 1, not %d", threads)
	}
	return require(size/threads > 1<<20,
		"log.cleaner.dedupe.buffer.size must be more than 1 MiB for each of the %d cleaner threads, not %d", threads, size)
}

func checkCordoned(l Layers) error {
	cordoned := l.List("cordoned.log.dirs")
	if slices.Contains(cordoned, "*") {
		return require(len(cordoned) == 1, "cordoned.log.dirs: * must stand alone")
	}
	dirs := l.LogDirs()
	for _, c := range cordoned {
		if !slices.Contains(dirs, c) {
			return fmt.Errorf("cordoned.log.dirs: %s is not one of the log directories %s", c, strings.Join(dirs, ","))
		}
	}
	return nil
}

func checkSockets(l Layers) error {
	queued, largest := l.Int64("queued.max.request.bytes"), l.Int64("socket.request.max.bytes")
	delay, idle := l.Int64("connection.failed.authentication.delay.ms"), l.Int64("connections.max.idle.ms")
	overrides, err := parseOverrides(l.String("max.connections.per.ip.overrides"))
	return errors.Join(
		err,
		require(queued <= 0 || queued >= largest, "queued.max.request.bytes (%d) must be at least socket.request.max.bytes (%d)", queued, largest),
		require(idle < 0 || delay < idle, "connection.failed.authentication.delay.ms (%d) must be less than connections.max.idle.ms (%d)", delay, idle),
		require(l.Int("max.connections.per.ip") != 0 || len(overrides) > 0, "max.connections.per.ip may be 0 only with max.connections.per.ip.overrides"),
	)
}

func checkReplication(l Layers) error {
	wait, socket, lag := l.Int64("replica.fetch.wait.max.ms"), l.Int64("replica.socket.timeout.ms"), l.Int64("replica.lag.time.max.ms")
	return errors.Join(
		require(wait <= socket, "replica.fetch.wait.max.ms (%d) must not be more than replica.socket.timeout.ms (%d)", wait, socket),
		require(wait <= lag, "replica.fetch.wait.max.ms (%d) must not be more than replica.lag.time.max.ms (%d)", wait, lag),
	)
}

func checkCoordinator(l Layers) error {
	codec := l.Int("offsets.topic.compression.codec")
	shareCodec := l.Int("share.coordinator.state.topic.compression.codec")
	standby, most := l.Int("group.streams.num.standby.replicas"), l.Int("group.streams.max.standby.replicas")
	return errors.Join(
		require(slices.Contains(l.List("group.coordinator.rebalance.protocols"), "classic"), "group.coordinator.rebalance.protocols must hold classic"),
		require(codec >= 0 && codec <= 4, "offsets.topic.compression.codec must be 0 to 4, not %d", codec),
		require(shareCodec >= 0 && shareCodec <= 4, "share.coordinator.state.topic.compression.codec must be 0 to 4, not %d", shareCodec),
		require(standby <= most, "group.streams.num.standby.replicas (%d) must not be more than group.streams.max.standby.replicas (%d)", standby, most),
		checkHeartbeat(l, "group.consumer."), checkHeartbeat(l, "group.share."), checkHeartbeat(l, "group.streams."),
		knownAssignors(l, "group.consumer.assignors", "uniform", "range"),
		knownAssignors(l, "group.share.assignors", "simple"),
		knownAssignors(l, "group.streams.assignors", "sticky"),
	)
}

func checkHeartbeat(l Layers, prefix string) error {
	beat, session := l.Int(prefix+"heartbeat.interval.ms"), l.Int(prefix+"session.timeout.ms")
	return require(beat < session, "%sheartbeat.interval.ms (%d) must be less than %ssession.timeout.ms (%d)", prefix, beat, prefix, session)
}

// knownAssignors refuses assignors that are not built in: they are Java classes, which cannot run here.
func knownAssignors(l Layers, key string, known ...string) error {
	for _, a := range l.List(key) {
		if !slices.Contains(known, a) {
			return fmt.Errorf("%s: there is no assignor %s; there are %s", key, a, strings.Join(known, ", "))
		}
	}
	return nil
}

// checkBounds holds each prefix+key between the minimum and the maximum that the broker sets for it.
func checkBounds(l Layers, prefix string, keys ...string) error {
	var errs []error
	for _, key := range keys {
		low, high := prefix+"min."+key, prefix+"max."+key
		lowest, highest, v := l.Int(low), l.Int(high), l.Int(prefix+key)
		errs = append(errs,
			require(lowest <= highest, "%s (%d) must not be more than %s (%d)", low, lowest, high, highest),
			require(lowest <= v, "%s (%d) must be at least %s (%d)", prefix+key, v, low, lowest),
			require(v <= highest, "%s (%d) must not be more than %s (%d)", prefix+key, v, high, highest))
	}
	return errors.Join(errs...)
}

// unsupported names what Kafka would do with these values and Samsa does not do yet. Silently going on would
// lose safety (an authorizer, a policy) or data (a tier), so the broker does not start.
func unsupported(l Layers) error {
	var errs []error
	refuse := func(bad bool, key, why string) {
		if bad {
			errs = append(errs, fmt.Errorf("%s=%s is not supported yet: %s", key, l.shown(key), why))
		}
	}
	refuse(l.String("authorizer.class.name") != "", "authorizer.class.name", "requests are not authorized")
	refuse(l.String("create.topic.policy.class.name") != "", "create.topic.policy.class.name", "policies are Java classes")
	refuse(l.String("alter.config.policy.class.name") != "", "alter.config.policy.class.name", "policies are Java classes")
	refuse(l.String("client.quota.callback.class") != "", "client.quota.callback.class", "quota callbacks are Java classes")
	refuse(l.shown("principal.builder.class") != *BrokerKeys().Lookup("principal.builder.class").Default, "principal.builder.class", "principals are made by a Java class")
	refuse(l.Bool("remote.log.storage.system.enable"), "remote.log.storage.system.enable", "there is no tiered storage")
	refuse(len(l.List("config.providers")) > 0, "config.providers", "write the values themselves, or give them in the environment")
	if roles := l.List("process.roles"); l.IsSet("process.roles") {
		refuse(!slices.Contains(roles, "broker") || !slices.Contains(roles, "controller"), "process.roles", "a node is broker and controller in one")
	}
	for _, v := range l.List("controller.quorum.voters") {
		id, _, _ := strings.Cut(v, "@")
		refuse(id != fmt.Sprint(l.Int("node.id")), "controller.quorum.voters", "a node is its own and only controller")
	}
	return errors.Join(errs...)
}

// shown returns the text of a key for messages.
func (l Layers) shown(key string) string {
	raw, _ := l.raw(BrokerKeys().Lookup(key))
	if raw == nil {
		return ""
	}
	return *raw
}
