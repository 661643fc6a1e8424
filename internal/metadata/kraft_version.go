package metadata

import (
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// UpgradeKRaftVersion raises kraft.version from 0 to 1: from then on the voters stand in the log, in one control batch
// with the version (KRaftVersionRecord and VotersRecord), instead of in everybody's configuration (KIP-853). There is no
// way back. At level 1 already it does nothing. When it returns, the change is on disk.
func (s *Store) UpgradeKRaftVersion() error {
	last, err := s.writeKRaftVersion()
	if err != nil {
		return err
	}
	if err := s.sync(last); err != nil {
		return err
	}
	s.publish()
	return nil
}

func (s *Store) writeKRaftVersion() (record.Offset, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	w := &s.writing
	if w.failed != nil {
		return record.NoOffset, w.failed
	}
	if s.voters.Load().kraftVersion >= kraftVersionDynamic {
		return w.latest.Offset, nil
	}
	next := &quorum{kraftVersion: kraftVersionDynamic, voters: soleVoter(s.o.NodeID, s.o.DirectoryID, s.o.ControllerEndpoint), inLog: true, led: []int32{s.o.NodeID}}
	nowMs := s.o.Now().UnixMilli()
	batch := controlBatch(w.latest.Offset+1, s.epoch, nowMs,
		controlRecord{record.ControlKRaftVersion, &stored.KRaftVersionRecord{KRaftVersion: kraftVersionDynamic}},
		controlRecord{record.ControlKRaftVoters, next.voters})
	if err := s.appendLocked(batch); err != nil {
		return record.NoOffset, err
	}
	w.replay.control(batch.LastOffset(), s.epoch)
	image, err := w.replay.image()
	if err != nil {
		return record.NoOffset, err
	}
	s.voters.Store(next)
	s.queueLocked(publication{image: image, touched: &touched{}, appendedMs: nowMs}, len(batch))
	return image.Offset, nil
}

// soleVoter is a voter set of one.
func soleVoter(node int32, directory record.UUID, e Endpoint) *stored.VotersRecord {
	return &stored.VotersRecord{Voters: []stored.VotersRecordVoter{{
		VoterID: node, VoterDirectoryID: directory,
		Endpoints:           []stored.VotersRecordEndpoint{{Name: e.Name, Host: e.Host, Port: e.Port}},
		KRaftVersionFeature: stored.VotersRecordKRaftVersionFeature{MinSupportedVersion: kraftVersionStatic, MaxSupportedVersion: kraftVersionDynamic},
	}}}
}
