package controller

import (
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Shutdown records that this broker has stopped in order, as Kafka does: it leads nothing any more, stays the
// eligible leader of what it led, and is fenced. An Apache Kafka that is started on the directory then goes on at
// once, instead of waiting until the session of a vanished broker has run out. Call it when no partition is
// written any more and before the Store is closed.
func (c *Controller) Shutdown() error {
	var work []partitionID
	_, err := c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		b := i.Brokers[c.o.NodeID]
		if b == nil || b.Fenced {
			return nil, nil
		}
		work = c.led(i)
		return []stored.Message{&stored.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, InControlledShutdown: 1}}, nil
	})
	for err == nil && len(work) > 0 {
		n := min(len(work), maxRecordsPerOperation)
		_, err = c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
			return c.resignations(i, work[:n]), nil
		})
		work = work[n:]
	}
	if err != nil {
		return err
	}
	_, err = c.o.Store.Update(func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		b := i.Brokers[c.o.NodeID]
		if b == nil || b.Fenced {
			return nil, nil
		}
		return []stored.Message{&stored.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: 1}}, nil
	})
	return err
}

// led are the partitions that this node leads.
func (c *Controller) led(i *metadata.Image) []partitionID {
	var out []partitionID
	for t := range i.Topics.All() {
		for n, p := range t.Partitions {
			if p.Leader == c.o.NodeID {
				out = append(out, partitionID{t.ID, int32(n)})
			}
		}
	}
	return out
}

// resignations leave partitions without a leader. With eligible leader replicas the node moves from the in-sync
// replicas to those; without them the last in-sync replica is never removed.
func (c *Controller) resignations(i *metadata.Image, work []partitionID) []stored.Message {
	var out []stored.Message
	node := []int32{c.o.NodeID}
	for _, w := range work {
		t := i.Topics.ByID(w.topic)
		if t == nil || int(w.partition) >= len(t.Partitions) {
			continue
		}
		p := t.Partitions[w.partition]
		m := stored.NewPartitionChangeRecord()
		m.PartitionID, m.TopicID, m.Leader = w.partition, w.topic, stored.NoLeader
		if elrEnabled(i) && slices.Equal(p.ISR, node) {
			m.ISR, m.EligibleLeaderReplicas, m.LastKnownELR = []int32{}, append(slices.Clone(p.ELR), c.o.NodeID), node
		}
		out = append(out, &m)
	}
	return out
}
