package samsa

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/group"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	sharestate "github.com/samsalog/samsa/internal/share/coordinator"
	"github.com/samsalog/samsa/internal/txn"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// coordinatorObserver makes this node the coordinator of the groups, transactional ids and share partitions whose partition it leads.
type coordinatorObserver struct{ b *Broker }

// Elected implements replica.Observer.
func (o coordinatorObserver) Elected(p *replica.Partition) {
	switch tp := p.TopicPartition(); tp.Topic {
	case group.OffsetsTopic:
		o.b.groups.Elected(tp.Partition, p)
	case txn.TransactionsTopic:
		o.b.txns.Elected(tp.Partition, p)
	case sharestate.StateTopic:
		o.b.shareState.Elected(tp.Partition, p)
	}
}

// Resigned implements replica.Observer.
func (o coordinatorObserver) Resigned(tp record.TopicPartition) {
	switch tp.Topic {
	case group.OffsetsTopic:
		o.b.groups.Resigned(tp.Partition)
	case txn.TransactionsTopic:
		o.b.txns.Resigned(tp.Partition)
	case sharestate.StateTopic:
		o.b.shareState.Resigned(tp.Partition)
	}
}

// coordinatorError says what an error of a partition means to a coordinator's client (CoordinatorRuntime).
func coordinatorError(err error) error {
	switch {
	case errors.Is(err, replica.ErrNotEnoughReplicas), errors.Is(err, replica.ErrUnknownPartition):
		return coord.ErrNotAvailable
	default:
		return nil
	}
}

func groupSettings(l config.Layers, i *metadata.Image) group.Settings {
	policy := strings.ToUpper(l.String("group.consumer.migration.policy"))
	return group.Settings{
		ConsumerProtocol: i.Features[metadata.GroupVersionFeature] >= 1 &&
			slices.Contains(l.List("group.coordinator.rebalance.protocols"), "consumer"),
		StreamsProtocol: i.Features[metadata.StreamsVersionFeature] >= 1 &&
			slices.Contains(l.List("group.coordinator.rebalance.protocols"), "streams"),
		ShareProtocol:                 i.Features[metadata.ShareVersionFeature] >= 1,
		ShareMaxSize:                  l.Int("group.share.max.size"),
		StreamsMaxSize:                l.Int("group.streams.max.size"),
		ConsumerMaxSize:               l.Int("group.consumer.max.size"),
		ConsumerAssignors:             l.List("group.consumer.assignors"),
		Upgrade:                       policy == "BIDIRECTIONAL" || policy == "UPGRADE",
		Downgrade:                     policy == "BIDIRECTIONAL" || policy == "DOWNGRADE",
		MinSessionTimeout:             l.Duration("group.min.session.timeout.ms"),
		MaxSessionTimeout:             l.Duration("group.max.session.timeout.ms"),
		InitialRebalanceDelay:         l.Duration("group.initial.rebalance.delay.ms"),
		MaxSize:                       l.Int("group.max.size"),
		OffsetsRetention:              time.Duration(l.Int("offsets.retention.minutes")) * time.Minute,
		OffsetsRetentionCheckInterval: l.Duration("offsets.retention.check.interval.ms"),
		OffsetMetadataMaxBytes:        l.Int("offset.metadata.max.bytes"),
		Codec:                         record.Codec(l.Int("offsets.topic.compression.codec")),
	}
}

// consumerConfig is what holds for one group of the consumer protocol.
func consumerConfig(l config.Layers, i *metadata.Image, id string) group.ConsumerConfig {
	own := i.Config(metadata.ConfigResource{Type: metadata.GroupResource, Name: id})
	return group.ConsumerConfig{
		SessionTimeout: l.GroupDuration("consumer.session.timeout.ms", own), HeartbeatInterval: l.GroupDuration("consumer.heartbeat.interval.ms", own),
		AssignmentInterval: l.GroupDuration("consumer.assignment.interval.ms", own),
	}
}

// streamsConfig is what holds for one group of the streams protocol.
func streamsConfig(l config.Layers, i *metadata.Image, id string) group.StreamsConfig {
	own := i.Config(metadata.ConfigResource{Type: metadata.GroupResource, Name: id})
	return group.StreamsConfig{
		SessionTimeout: l.GroupDuration("streams.session.timeout.ms", own), HeartbeatInterval: l.GroupDuration("streams.heartbeat.interval.ms", own),
		TaskOffsetInterval: l.GroupDuration("streams.task.offset.interval.ms", own), AssignmentInterval: l.GroupDuration("streams.assignment.interval.ms", own),
		InitialDelay: l.GroupDuration("streams.initial.rebalance.delay.ms", own), AcceptableRecoveryLag: l.GroupLong("streams.acceptable.recovery.lag", own),
		Standbys: l.GroupInt("streams.num.standby.replicas", own), RackTags: l.GroupList("streams.rack.aware.assignment.tags", own),
	}
}

// shareConfig is what holds for the members of one share group.
func shareConfig(l config.Layers, i *metadata.Image, id string) group.ShareConfig {
	own := i.Config(metadata.ConfigResource{Type: metadata.GroupResource, Name: id})
	return group.ShareConfig{
		SessionTimeout: l.GroupDuration("share.session.timeout.ms", own), HeartbeatInterval: l.GroupDuration("share.heartbeat.interval.ms", own),
		AssignmentInterval: l.GroupDuration("share.assignment.interval.ms", own),
	}
}

// createInternalTopic makes a topic that a streams application needs.
func (s *starting) createInternalTopic(name string, partitions int32, rf int16, configs map[string]string) error {
	if rf == 0 {
		rf = int16(s.current().Int("default.replication.factor"))
	}
	_, err := s.ctl.CreateTopic(name, partitions, rf, configs)
	return err
}

// createOffsetsTopic makes the topic that groups keep their state in, with the settings that Kafka gives it.
func (s *starting) createOffsetsTopic() error {
	l := s.current()
	_, err := s.ctl.CreateTopic(group.OffsetsTopic, int32(l.Int("offsets.topic.num.partitions")), int16(l.Int("offsets.topic.replication.factor")), map[string]string{
		"cleanup.policy":   "compact",
		"compression.type": "producer",
		"segment.bytes":    strconv.Itoa(l.Int("offsets.topic.segment.bytes")),
	})
	return err
}

// startCoordinators makes the coordinators of groups, transactions and share state. Groups and transactions need each
// other: commits of offsets ask about their transaction, ends of transactions go to the groups' partitions.
func (s *starting) startCoordinators() {
	b := s.b
	s.startShareState()
	b.groups = group.NewService(group.Options{
		Config:         func() group.Settings { return groupSettings(s.current(), b.store.Image()) },
		ConsumerConfig: func(id string) group.ConsumerConfig { return consumerConfig(s.current(), b.store.Image(), id) },
		StreamsConfig:  func(id string) group.StreamsConfig { return streamsConfig(s.current(), b.store.Image(), id) },
		ShareConfig:    func(id string) group.ShareConfig { return shareConfig(s.current(), b.store.Image(), id) },
		Persister:      b.shareState, HighWatermark: b.highWatermark,
		Metadata: b.store.Image, CreateInternalTopic: s.createInternalTopic,
		CreateOffsetsTopic: s.createOffsetsTopic, AppendError: coordinatorError, Logger: s.room("group"),
		CommitTimeout: s.current().Duration("offsets.commit.timeout.ms"), LoadBufferBytes: s.current().Int("offsets.load.buffer.size"),
		VerifyTxn: func(ctx context.Context, v group.TxnVerification) int16 {
			return b.txns.Verify(ctx, txn.Verification{
				TransactionalID: v.TransactionalID, ProducerID: v.ProducerID, ProducerEpoch: v.ProducerEpoch,
				Partitions: []record.TopicPartition{v.Partition}, Add: v.Add,
			})[0]
		},
	})
	s.undos = append(s.undos, b.groups.Close)
	b.txns = txn.NewService(txn.Options{
		Config: func() txn.Settings { return txnSettings(s.current(), b.store.Image()) },
		Topic:  func() (txn.Topic, bool) { return transactionsTopic(b.store.Image()) }, CreateTopic: s.createTransactionsTopic,
		Exists: func(tp record.TopicPartition) bool { return exists(b.store.Image(), tp) }, Append: b.appendMarker,
		OffsetsTopic: group.OffsetsTopic, AppendToGroups: b.groups.WriteMarker, OffsetsPartition: b.offsetsPartition,
		NextProducerID:  txn.NewProducerIDs(s.ctl.AllocateProducerIDs).Next,
		LoadBufferBytes: s.current().Int("transaction.state.log.load.buffer.size"), AppendError: coordinatorError, Logger: s.room("txn"),
	})
	s.undos = append(s.undos, b.txns.Close)
}

// highWatermark is that of a partition; false if it is not led here, or cannot be read.
func (b *Broker) highWatermark(tp record.TopicPartition) (record.Offset, bool) {
	p, err := b.replicas.Partition(tp.Topic, tp.Partition)
	if err != nil || p.CheckLeads() != nil {
		return 0, false
	}
	log := p.Log()
	if log == nil {
		return 0, false
	}
	return log.HighWatermark(), true
}

// appendMarker ends a transaction on a partition that this node leads.
func (b *Broker) appendMarker(tp record.TopicPartition, marker []byte, o storage.AppendOptions) error {
	p, err := b.replicas.Partition(tp.Topic, tp.Partition)
	if err != nil {
		return err
	}
	_, err = p.Append(marker, o)
	return err
}

func (b *Broker) offsetsPartition(ctx context.Context, id string) (record.TopicPartition, error) {
	p, err := b.groups.Locate(ctx, id)
	return record.TopicPartition{Topic: group.OffsetsTopic, Partition: p}, err
}

func exists(i *metadata.Image, tp record.TopicPartition) bool {
	t := i.Topics.ByName(tp.Topic)
	return t != nil && tp.Partition >= 0 && int(tp.Partition) < len(t.Partitions)
}

func transactionsTopic(i *metadata.Image) (txn.Topic, bool) {
	t := i.Topics.ByName(txn.TransactionsTopic)
	if t == nil {
		return txn.Topic{}, false
	}
	return txn.Topic{ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}

func txnSettings(l config.Layers, i *metadata.Image) txn.Settings {
	return txn.Settings{
		MaxTimeout:       l.Duration("transaction.max.timeout.ms"),
		AbortInterval:    l.Duration("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		IDExpiration:     l.Duration("transactional.id.expiration.ms"),
		ExpiryInterval:   l.Duration("transaction.remove.expired.transaction.cleanup.interval.ms"),
		VerifyPartitions: l.Bool("transaction.partition.verification.enable"),
		AddRetryMax:      l.Duration("add.partitions.to.txn.retry.backoff.max.ms"),
		TxnVersion:       i.Features[metadata.TxnVersionFeature],
	}
}

// createTransactionsTopic makes the topic that transactions keep their state in, with the settings that Kafka gives it.
func (s *starting) createTransactionsTopic() error {
	l := s.current()
	_, err := s.ctl.CreateTopic(txn.TransactionsTopic, int32(l.Int("transaction.state.log.num.partitions")), int16(l.Int("transaction.state.log.replication.factor")), map[string]string{
		"cleanup.policy":                 "compact",
		"compression.type":               "uncompressed",
		"min.insync.replicas":            strconv.Itoa(l.Int("transaction.state.log.min.isr")),
		"segment.bytes":                  strconv.Itoa(l.Int("transaction.state.log.segment.bytes")),
		"unclean.leader.election.enable": "false",
	})
	return err
}
