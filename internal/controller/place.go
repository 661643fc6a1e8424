package controller

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// place chooses the replicas of partitions new partitions: round-robin over the brokers from a random start,
// one further for each partition, fenced brokers last. Racks are not looked at.
func (c *Controller) place(i *metadata.Image, partitions int, rf int) ([][]int32, *Error) {
	var alive, fenced []int32
	for id := range i.Brokers {
		if isActive(i, id) {
			alive = append(alive, id)
		} else {
			fenced = append(fenced, id)
		}
	}
	slices.Sort(alive)
	slices.Sort(fenced)
	switch all := len(alive) + len(fenced); {
	case rf > all:
		return nil, refuse(kerr.InvalidReplicationFactor, "the replication factor of %d cannot be reached: %d broker(s) are registered", rf, all)
	case len(alive) == 0:
		return nil, refuse(kerr.InvalidReplicationFactor, "all brokers are fenced or shutting down")
	}
	start, err := c.random(len(alive))
	if err != nil {
		return nil, err
	}
	out := make([][]int32, partitions)
	for p := range out {
		replicas := make([]int32, 0, rf)
		for r := range min(rf, len(alive)) {
			replicas = append(replicas, alive[(start+p+r)%len(alive)])
		}
		for r := range rf - len(replicas) {
			replicas = append(replicas, fenced[(start+p+r)%len(fenced)])
		}
		out[p] = replicas
	}
	return out, nil
}

// random returns a number below n.
func (c *Controller) random(n int) (int, *Error) {
	if n == 1 {
		return 0, nil
	}
	var b [8]byte
	if _, err := io.ReadFull(c.o.Rand, b[:]); err != nil {
		return 0, asError(err)
	}
	return int(binary.BigEndian.Uint64(b[:]) >> 1 % uint64(n)), nil
}

// checkAssignment tests one replica list that a client gave; rf is that of the other partitions, 0 for none yet.
func checkAssignment(i *metadata.Image, partition int32, replicas []int32, rf int) *Error {
	if len(replicas) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "partition %d is assigned to no broker", partition)
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for n, id := range sorted {
		if i.Brokers[id] == nil {
			return refuse(kerr.InvalidReplicaAssignment, "partition %d is assigned to broker %d, which is not registered", partition, id)
		}
		if n > 0 && sorted[n-1] == id {
			return refuse(kerr.InvalidReplicaAssignment, "partition %d is assigned to broker %d more than once", partition, id)
		}
	}
	if rf != 0 && len(replicas) != rf {
		return refuse(kerr.InvalidReplicaAssignment, "partition %d has %d replica(s), others have %d", partition, len(replicas), rf)
	}
	if len(active(i, replicas)) == 0 {
		return refuse(kerr.InvalidReplicaAssignment, "all brokers of partition %d are fenced or shutting down", partition)
	}
	return nil
}

// newPartition is the record of a new partition: led by the first replica that is active, which all are in sync.
func newPartition(i *metadata.Image, topic record.UUID, n int32, replicas []int32) *stored.PartitionRecord {
	m := stored.NewPartitionRecord()
	m.PartitionID, m.TopicID, m.Replicas, m.ISR = n, topic, replicas, active(i, replicas)
	m.Leader, m.LeaderEpoch, m.PartitionEpoch = m.ISR[0], 0, 0
	for _, id := range replicas {
		m.Directories = append(m.Directories, defaultDirectory(i.Brokers[id]))
	}
	return &m
}

// defaultDirectory is known without asking when a broker has one directory.
func defaultDirectory(b *metadata.Broker) record.UUID {
	if len(b.LogDirs) == 1 {
		return b.LogDirs[0]
	}
	return record.UnassignedDirID
}
