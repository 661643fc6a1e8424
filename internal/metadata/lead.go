package metadata

import (
	"path/filepath"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// lead makes this node the leader: a new epoch in quorum-state, then in the log a LEADER_CHANGE batch, the end of
// a transaction that was left open, and the bootstrap records if there is no metadata.version.
func (l *loading) lead() error {
	s := l.s
	s.quorum = l.quorum
	s.epoch = l.newestEpoch()
	if e, ok := s.log.LatestEpoch(); ok {
		s.epoch = max(s.epoch, e)
	}
	s.epoch++
	if err := l.writeState(); err != nil {
		return err
	}
	if err := s.log.AssignLeaderEpoch(s.epoch); err != nil {
		return err
	}
	if err := l.append(controlBatch(l.next(), s.epoch, s.o.Now().UnixMilli(), l.leaderChange()...), nil); err != nil {
		return err
	}
	if l.replay.before != nil || l.replay.fold.img.MetadataVersion() == 0 {
		// More of this epoch follows at once. Were it on disk without this batch, that would look like a hole in what was synced.
		if err := s.log.Flush(s.log.LogEndOffset()); err != nil {
			return err
		}
	}
	if l.replay.before != nil {
		// KafkaController says the same when it takes over.
		abort := &stored.AbortTransactionRecord{Reason: new("Controller failover")}
		if err := l.appendRecords([]stored.Message{abort}); err != nil {
			return err
		}
	}
	if l.replay.fold.img.MetadataVersion() == 0 {
		if err := l.appendRecords(l.bootstrapBatch()); err != nil {
			return err
		}
	}
	return l.finish()
}

func (l *loading) next() record.Offset { return l.replay.fold.img.Offset + 1 }

// writeState makes the new epoch durable before anything is written with it (META-8).
func (l *loading) writeState() error {
	s := l.s
	state := &quorumState{LeaderID: s.o.NodeID, LeaderEpoch: s.epoch, VotedID: -1, DataVersion: s.quorum.kraftVersion}
	if state.DataVersion == kraftVersionStatic {
		state.CurrentVoters = []int32{s.o.NodeID}
	}
	return writeQuorumState(s.o.FS, filepath.Join(s.dir, quorumStateFile), state)
}

// leaderChange is the content of the first batch of an epoch. A voter set that only formatting knows is written
// into the log with it.
func (l *loading) leaderChange() []controlRecord {
	q := &l.s.quorum
	voters := []stored.LeaderChangeMessageVoter{{VoterID: l.s.o.NodeID}}
	out := []controlRecord{{record.ControlLeaderChange, &stored.LeaderChangeMessage{
		LeaderID: l.s.o.NodeID, Voters: voters, GrantingVoters: voters,
	}}}
	if q.kraftVersion > kraftVersionStatic && !q.inLog {
		out = append(out,
			controlRecord{record.ControlKRaftVersion, &stored.KRaftVersionRecord{KRaftVersion: q.kraftVersion}},
			controlRecord{record.ControlKRaftVoters, q.voters})
		q.inLog = true
	}
	return out
}

// bootstrapBatch is what the first controller writes: the records of formatting, and for eligible leader
// replicas the min.insync.replicas that they depend on.
func (l *loading) bootstrapBatch() []stored.Message {
	records := l.bootstrap
	levels := bootstrapLevels(records)
	if levels[MetadataVersionFeature] == 0 {
		// Nobody has said which: the newest, and no other feature, as Kafka does.
		levels[MetadataVersionFeature] = MaxMetadataVersion
		records = append([]stored.Message{featureRecord(MetadataVersionFeature, MaxMetadataVersion)}, records...)
	}
	if levels[ELRVersionFeature] > 0 {
		records = append(records[:len(records):len(records)], &stored.ConfigRecord{
			ResourceType: BrokerResource, Name: minInsyncReplicas, Value: new(l.s.o.MinInsyncReplicas),
		})
	}
	if levels[MetadataVersionFeature] < versionTransactions {
		return records
	}
	out := []stored.Message{&stored.BeginTransactionRecord{Name: new("Bootstrap records")}}
	return append(append(out, records...), new(stored.EndTransactionRecord))
}

// bootstrapLevels are the feature levels that the records of formatting set.
func bootstrapLevels(records []stored.Message) map[string]int16 {
	levels := map[string]int16{}
	for _, m := range records {
		if f, ok := m.(*stored.FeatureLevelRecord); ok {
			levels[f.Name] = f.FeatureLevel
		}
	}
	return levels
}

// minInsyncReplicas is the config that eligible leader replicas depend on.
const minInsyncReplicas = "min.insync.replicas"

func (l *loading) appendRecords(records []stored.Message) error {
	base := l.next()
	version := l.replay.fold.img.MetadataVersion()
	batch, seen, err := dataBatch(base, l.s.epoch, l.s.o.Now().UnixMilli(), version, records)
	if err != nil {
		return err
	}
	return l.append(batch, seen)
}

// append applies a batch, then writes it.
func (l *loading) append(batch record.Batch, records []stored.Message) error {
	if records == nil {
		l.replay.control(batch.LastOffset(), l.s.epoch)
	} else if err := l.replay.batch(batch.BaseOffset(), l.s.epoch, records); err != nil {
		return err
	}
	l.written += int64(len(batch))
	return l.s.appendLocked(batch)
}

// finish syncs what lead has written and publishes the first image.
func (l *loading) finish() error {
	s := l.s
	img, err := l.replay.image()
	if err != nil {
		return err
	}
	if err := s.sync(img.Offset); err != nil {
		return err
	}
	q := s.quorum
	s.voters.Store(&q)
	s.writing.replay, s.writing.latest, s.writing.written = l.replay, img, l.written
	s.image.Store(img)
	s.o.Logger.Info("leading the cluster metadata", "cluster", img.ClusterID, "epoch", s.epoch, "offset", img.Offset,
		"metadata.version", img.MetadataVersion(), "topics", img.Topics.Len())
	return nil
}
