package controller

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// minInsyncReplicas is what eligible leader replicas are counted by: a change of it makes them void.
const minInsyncReplicas = "min.insync.replicas"

func elrEnabled(i *metadata.Image) bool { return i.Features[metadata.ELRVersionFeature] > 0 }

func configRecord(r metadata.ConfigResource, name string, value *string) *stored.ConfigRecord {
	return &stored.ConfigRecord{ResourceType: r.Type, ResourceName: r.Name, Name: name, Value: value}
}

// AlterConfigRecords sets (or, with nil, unsets) configs of a resource, whose values the caller has checked. What
// is so already writes no record. A topic must exist.
func (c *Controller) AlterConfigRecords(r metadata.ConfigResource, changes map[string]*string) error {
	return c.AlterConfig(r, func(map[string]string) (map[string]*string, error) { return changes, nil })
}

// AlterConfig is AlterConfigRecords for changes that depend on the present values, which change gets to read:
// appending to a list, replacing all. Nothing else changes in between. An error of change is returned as it is.
func (c *Controller) AlterConfig(r metadata.ConfigResource, change func(now map[string]string) (map[string]*string, error)) error {
	_, err := c.update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		if r.Type == metadata.TopicResource && i.Topics.ByName(r.Name) == nil {
			return nil, &Error{Code: kerr.UnknownTopicOrPartition}
		}
		now := i.Config(r)
		changes, err := change(now)
		if err != nil {
			return nil, err
		}
		return configRecords(i, r, now, changes)
	})
	return err
}

func configRecords(i *metadata.Image, r metadata.ConfigResource, now map[string]string, changes map[string]*string) ([]stored.Message, error) {
	var out []stored.Message
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value := changes[name]
		old, set := now[name]
		if value == nil && !set || value != nil && set && old == *value {
			continue
		}
		out = append(out, configRecord(r, name, value))
	}
	value, changed := changes[minInsyncReplicas]
	if !changed || !elrEnabled(i) {
		return out, nil
	}
	switch {
	case r.Type == metadata.TopicResource:
		return append(out, &stored.ClearElrRecord{TopicName: r.Name}), nil
	case r.Type != metadata.BrokerResource:
		return out, nil
	case r.Name != "" && value != nil:
		return nil, refuse(kerr.InvalidConfig, "%s cannot be set for one broker while eligible leader replicas are in use", minInsyncReplicas)
	case r.Name == "" && value == nil:
		return nil, refuse(kerr.InvalidConfig, "%s cannot be removed from the cluster's defaults while eligible leader replicas are in use", minInsyncReplicas)
	case r.Name == "":
		return append(out, &stored.ClearElrRecord{}), nil
	}
	return out, nil
}
