package metadata

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// records yields the records that make i from nothing, in the order of Kafka's snapshots: features
// (metadata.version first), brokers, controllers, topics with their partitions, configs, quotas, producer ids,
// ACLs, SCRAM credentials, tokens. Within a kind the order is that of names, so that equal images give equal
// bytes (META-5).
func (i *Image) records() iter.Seq[stored.Message] {
	return func(yield func(stored.Message) bool) {
		_ = i.featureRecords(yield) && i.nodeRecords(yield) && i.topicRecords(yield) && i.configRecords(yield) &&
			i.quotaRecords(yield) && i.producerIDRecord(yield) && i.securityRecords(yield)
	}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func featureRecord(name string, level int16) *stored.FeatureLevelRecord {
	return &stored.FeatureLevelRecord{Name: name, FeatureLevel: level}
}

func (i *Image) featureRecords(yield func(stored.Message) bool) bool {
	if v := i.MetadataVersion(); v != 0 && !yield(featureRecord(MetadataVersionFeature, v)) {
		return false
	}
	for _, name := range sortedKeys(i.Features) {
		if name != MetadataVersionFeature && !yield(featureRecord(name, i.Features[name])) {
			return false
		}
	}
	return true
}

func (i *Image) nodeRecords(yield func(stored.Message) bool) bool {
	for _, id := range sortedKeys(i.Brokers) {
		if !yield(i.Brokers[id].record()) {
			return false
		}
	}
	for _, id := range sortedKeys(i.controllers) {
		if !yield(i.controllers[id]) {
			return false
		}
	}
	return true
}

func (b *Broker) record() *stored.RegisterBrokerRecord {
	m := stored.NewRegisterBrokerRecord()
	m.BrokerID, m.BrokerEpoch, m.IncarnationID = b.ID, b.Epoch, b.IncarnationID
	m.Rack, m.Fenced, m.InControlledShutdown = b.Rack, b.Fenced, b.InControlledShutdown
	m.LogDirs, m.CordonedLogDirs = b.LogDirs, b.CordonedLogDirs
	for _, e := range b.Endpoints {
		m.EndPoints = append(m.EndPoints, stored.RegisterBrokerRecordBrokerEndpoint{
			Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol,
		})
	}
	for _, f := range b.Features {
		m.Features = append(m.Features, stored.RegisterBrokerRecordBrokerFeature{
			Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return &m
}

func (i *Image) topicRecords(yield func(stored.Message) bool) bool {
	topics := slices.SortedFunc(i.Topics.All(), func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range topics {
		if !yield(&stored.TopicRecord{Name: t.Name, TopicID: t.ID}) {
			return false
		}
		for n, p := range t.Partitions {
			if !yield(p.record(t.ID, int32(n))) {
				return false
			}
		}
	}
	return true
}

// record returns the PARTITION record of p. Empty lists of eligible leaders are left out.
func (p *Partition) record(topic record.UUID, n int32) *stored.PartitionRecord {
	m := stored.NewPartitionRecord()
	m.PartitionID, m.TopicID = n, topic
	m.Replicas, m.ISR, m.RemovingReplicas, m.AddingReplicas = p.Replicas, p.ISR, p.Removing, p.Adding
	m.Leader, m.LeaderEpoch, m.PartitionEpoch = p.Leader, int32(p.LeaderEpoch), p.PartitionEpoch
	m.LeaderRecoveryState, m.Directories = p.LeaderRecoveryState, p.Directories
	if len(p.ELR) > 0 {
		m.EligibleLeaderReplicas = p.ELR
	}
	if len(p.LastKnownELR) > 0 {
		m.LastKnownELR = p.LastKnownELR
	}
	return &m
}

func (i *Image) configRecords(yield func(stored.Message) bool) bool {
	resources := slices.SortedFunc(i.ConfigResources(), func(a, b ConfigResource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range resources {
		values := i.Config(r)
		for _, name := range sortedKeys(values) {
			if !yield(&stored.ConfigRecord{ResourceType: r.Type, ResourceName: r.Name, Name: name, Value: new(values[name])}) {
				return false
			}
		}
	}
	return true
}

func (i *Image) quotaRecords(yield func(stored.Message) bool) bool {
	for _, q := range inOrder(i.quotas) {
		for _, key := range sortedKeys(q.values) {
			if !yield(&stored.ClientQuotaRecord{Entity: q.entity, Key: key, Value: q.values[key]}) {
				return false
			}
		}
	}
	return true
}

func (i *Image) producerIDRecord(yield func(stored.Message) bool) bool {
	if i.NextProducerID == 0 {
		return true
	}
	return yield(&stored.ProducerIdsRecord{BrokerID: -1, BrokerEpoch: -1, NextProducerID: int64(i.NextProducerID)})
}

func (i *Image) securityRecords(yield func(stored.Message) bool) bool {
	for a := range i.AccessControlEntries() {
		if !yield(a) {
			return false
		}
	}
	for c := range i.ScramCredentials() {
		if !yield(c) {
			return false
		}
	}
	for t := range i.DelegationTokens() {
		if !yield(t) {
			return false
		}
	}
	return true
}

// inOrder returns the values of m in the order of its keys.
func inOrder[V any](m pmap[string, V]) []V {
	all := maps.Collect(m.all())
	out := make([]V, 0, len(all))
	for _, k := range sortedKeys(all) {
		out = append(out, all[k])
	}
	return out
}
