package metadata

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// takeOverBatch is how many records TakeOver writes at once.
const takeOverBatch = 5000

// TakeOver makes a metadata log that belongs to a larger controller quorum that of a cluster whose only voter is this
// node. decide gets the last state and returns what has to change in it. The old voters stay until all of that is on
// disk: a TakeOver that was interrupted leaves a log that Open refuses as before, or the finished one, and can be repeated.
//
// The old quorum must never be started again with this node's directory.
func TakeOver(o Options, decide func(i *Image) ([]stored.Message, error)) error {
	o.setDefaults()
	s := &Store{o: o, dir: logDirOf(o.Dir)}
	l := &loading{reading: newReading(o.FS, o.Dir, o.ClusterID), s: s}
	err := l.takeOver(decide)
	switch {
	case s.log == nil:
	case err == nil:
		err = s.log.Close()
	default:
		s.log.Abandon()
	}
	if err != nil {
		return fmt.Errorf("metadata log in %s: %w", s.dir, err)
	}
	return nil
}

func (l *loading) takeOver(decide func(*Image) ([]stored.Message, error)) error {
	if err := l.all(); err != nil {
		return err
	}
	img, err := l.replay.image()
	if err != nil {
		return err
	}
	if err := checkFeatures(img.Features); err != nil {
		return err
	}
	records, err := decide(img)
	if err != nil {
		return err
	}
	for _, step := range []func() error{l.openLog, l.removeLeftovers} {
		if err := step(); err != nil {
			return err
		}
	}
	l.s.quorum, l.s.epoch = l.quorum, l.newestEpoch()
	if e, ok := l.s.log.LatestEpoch(); ok {
		l.s.epoch = max(l.s.epoch, e)
	}
	if err := l.asOldQuorum(records); err != nil {
		return err
	}
	return l.asSoleVoter()
}

// asOldQuorum writes the records in an epoch of the old voters, as one transaction where there are such.
func (l *loading) asOldQuorum(records []stored.Message) error {
	old := l.s.quorum.voterIDs(l.state)
	if err := l.newEpoch(old); err != nil {
		return err
	}
	// Records of the new epoch must not be on disk without its begin: that looks like a hole in what was synced.
	if err := l.s.log.Flush(l.s.log.LogEndOffset()); err != nil {
		return err
	}
	if l.replay.before != nil {
		abort := &stored.AbortTransactionRecord{Reason: new("Controller failover")}
		if err := l.appendRecords([]stored.Message{abort}); err != nil {
			return err
		}
	}
	if l.replay.fold.img.MetadataVersion() >= versionTransactions {
		records = slices.Concat([]stored.Message{&stored.BeginTransactionRecord{Name: new("Solo")}}, records, []stored.Message{new(stored.EndTransactionRecord)})
	}
	for len(records) > 0 {
		n := min(len(records), takeOverBatch)
		if err := l.appendRecords(records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	if l.replay.before != nil {
		return errors.New("a transaction stayed open")
	}
	return l.s.log.Flush(l.s.log.LogEndOffset())
}

// asSoleVoter begins an epoch whose only voter is this node; a voter set in the log is replaced in the same batch.
func (l *loading) asSoleVoter() error {
	q := &l.s.quorum
	var more []controlRecord
	if q.kraftVersion > kraftVersionStatic {
		q.voters, q.inLog = l.soleVoter(), true
		more = append(more, controlRecord{record.ControlKRaftVoters, q.voters})
	}
	if err := l.newEpoch([]int32{l.s.o.NodeID}, more...); err != nil {
		return err
	}
	return l.s.log.Flush(l.s.log.LogEndOffset())
}

// soleVoter is what the voter set says of this node, if it does, with the directory that it has now.
func (l *loading) soleVoter() *stored.VotersRecord {
	if l.quorum.voters != nil {
		for _, v := range l.quorum.voters.Voters {
			if v.VoterID == l.s.o.NodeID && len(v.Endpoints) > 0 {
				v.VoterDirectoryID = l.s.o.DirectoryID
				return &stored.VotersRecord{Voters: []stored.VotersRecordVoter{v}}
			}
		}
	}
	return soleVoter(l.s.o.NodeID, l.s.o.DirectoryID, l.s.o.ControllerEndpoint)
}

// newEpoch begins a leader epoch of this node with certain voters (META-8).
func (l *loading) newEpoch(voters []int32, more ...controlRecord) error {
	s := l.s
	s.epoch++
	state := &quorumState{LeaderID: s.o.NodeID, LeaderEpoch: s.epoch, VotedID: -1, DataVersion: s.quorum.kraftVersion}
	if state.DataVersion == kraftVersionStatic {
		state.CurrentVoters = voters
	}
	if err := writeQuorumState(s.o.FS, filepath.Join(s.dir, quorumStateFile), state); err != nil {
		return err
	}
	if err := s.log.AssignLeaderEpoch(s.epoch); err != nil {
		return err
	}
	change := &stored.LeaderChangeMessage{LeaderID: s.o.NodeID, GrantingVoters: []stored.LeaderChangeMessageVoter{{VoterID: s.o.NodeID}}}
	for _, id := range voters {
		change.Voters = append(change.Voters, stored.LeaderChangeMessageVoter{VoterID: id})
	}
	records := append([]controlRecord{{record.ControlLeaderChange, change}}, more...)
	return l.append(controlBatch(l.next(), s.epoch, s.o.Now().UnixMilli(), records...), nil)
}
