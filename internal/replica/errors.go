package replica

import "errors"

// What a partition answers instead of data; the handler turns them into Kafka's codes.
var (
	// ErrUnknownPartition means that the cluster has no such topic or partition.
	ErrUnknownPartition = errors.New("no such partition")
	// ErrNotLeader means that the partition exists but this node does not lead it.
	ErrNotLeader = errors.New("not the leader of the partition")
	// ErrOffline means that the partition's log directory has failed.
	ErrOffline = errors.New("the partition's log directory is offline")
	// ErrFencedLeaderEpoch means that the client's leader epoch is older than ours.
	ErrFencedLeaderEpoch = errors.New("the client's leader epoch is older than the partition's")
	// ErrUnknownLeaderEpoch means that the client's leader epoch is newer than ours.
	ErrUnknownLeaderEpoch = errors.New("the client's leader epoch is newer than the partition's")
	// ErrNotEnoughReplicas means that acks=all was asked for while too few replicas are in sync.
	ErrNotEnoughReplicas = errors.New("fewer in-sync replicas than min.insync.replicas")
	// ErrPolicy means that the topic's cleanup.policy forbids what was asked.
	ErrPolicy = errors.New("the topic's cleanup.policy has no delete")
)
