package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// quorum is what the control records and quorum-state say of the voters.
type quorum struct {
	// kraftVersion 0: the voters are configured statically and the log does not name them.
	kraftVersion int16
	// voters is the newest voter set; nil when none is known.
	voters *stored.VotersRecord
	// inLog: the voter set stands in the log or in a snapshot of it, not only in the checkpoint of formatting.
	inLog bool
	// led are the voters of the newest LEADER_CHANGE; nil when there was none.
	led []int32
}

// control takes in a control record of the log or a snapshot.
func (q *quorum) control(r controlRecord, inLog bool) {
	switch m := r.value.(type) {
	case *stored.KRaftVersionRecord:
		q.kraftVersion = m.KRaftVersion
	case *stored.VotersRecord:
		q.voters, q.inLog = m, inLog
	case *stored.LeaderChangeMessage:
		q.led = []int32{}
		for _, v := range m.Voters {
			q.led = append(q.led, v.VoterID)
		}
	}
}

// check refuses directories in which this node may not decide alone (META-7).
func (q *quorum) check(node int32, directory record.UUID, state *quorumState) error {
	if q.kraftVersion > kraftVersionDynamic {
		return fmt.Errorf("%w: kraft.version %d, known here is up to %d", ErrTooNew, q.kraftVersion, kraftVersionDynamic)
	}
	sole := func(where string, ids []int32) error {
		if ids == nil || slices.Equal(ids, []int32{node}) {
			return nil
		}
		return fmt.Errorf("%w: %s names the voters %v, this node is %d; only a directory of a single-node cluster can be served", ErrNotSoleVoter, where, ids, node)
	}
	if err := sole("the metadata log", q.led); err != nil {
		return err
	}
	if q.kraftVersion == kraftVersionStatic {
		return sole(quorumStateFile, state.voterIDs())
	}
	if q.voters == nil {
		return fmt.Errorf("%w: the directory was formatted to join another controller quorum (no initial controllers)", ErrNotSoleVoter)
	}
	if err := sole("the voter set", q.voterIDs(nil)); err != nil {
		return err
	}
	if v := q.voters.Voters[0]; !v.VoterDirectoryID.IsZero() && v.VoterDirectoryID != directory {
		return fmt.Errorf("%w: the voter set gives node %d the directory id %s, meta.properties says %s", ErrNotSoleVoter, node, v.VoterDirectoryID, directory)
	}
	return nil
}

// directories are the metadata directories of the voters; zero where no voter set tells.
func (q *quorum) directories(state *quorumState) map[int32]record.UUID {
	all := map[int32]record.UUID{}
	for _, id := range q.voterIDs(state) {
		all[id] = record.UUID{}
	}
	if q.voters != nil {
		for _, v := range q.voters.Voters {
			all[v.VoterID] = v.VoterDirectoryID
		}
	}
	return all
}

// voterIDs are the voters that are known: the newest that a control record names, or those of quorum-state.
func (q *quorum) voterIDs(state *quorumState) []int32 {
	if q.voters == nil {
		if ids := state.voterIDs(); ids != nil {
			return ids
		}
		return q.led
	}
	ids := make([]int32, len(q.voters.Voters))
	for i, v := range q.voters.Voters {
		ids[i] = v.VoterID
	}
	return ids
}

// quorumState is the file quorum-state: who leads, and for whom this node voted.
type quorumState struct {
	LeaderID         int32
	LeaderEpoch      record.LeaderEpoch
	VotedID          int32
	VotedDirectoryID record.UUID
	// CurrentVoters is kept by data version 0 only; nil is null.
	CurrentVoters []int32
	DataVersion   int16
}

// quorumStateJSON is the union of both versions in the order in which Kafka writes the fields.
type quorumStateJSON struct {
	ClusterID        *string             `json:"clusterId,omitempty"`
	LeaderID         int32               `json:"leaderId"`
	LeaderEpoch      int32               `json:"leaderEpoch"`
	VotedID          int32               `json:"votedId"`
	VotedDirectoryID *string             `json:"votedDirectoryId,omitempty"`
	AppliedOffset    *int64              `json:"appliedOffset,omitempty"`
	CurrentVoters    *[]quorumStateVoter `json:"currentVoters,omitempty"`
	DataVersion      *int16              `json:"data_version"`
}

type quorumStateVoter struct {
	VoterID int32 `json:"voterId"`
}

func (s *quorumState) voterIDs() []int32 {
	if s == nil {
		return nil
	}
	return s.CurrentVoters
}

// encode writes one line of JSON without newline.
func (s *quorumState) encode() ([]byte, error) {
	j := quorumStateJSON{LeaderID: s.LeaderID, LeaderEpoch: int32(s.LeaderEpoch), VotedID: s.VotedID, DataVersion: &s.DataVersion}
	if s.DataVersion == 0 {
		voters := []quorumStateVoter{}
		for _, id := range s.CurrentVoters {
			voters = append(voters, quorumStateVoter{id})
		}
		j.ClusterID, j.AppliedOffset, j.CurrentVoters = new(""), new(int64(0)), &voters
	} else {
		j.VotedDirectoryID = new(s.VotedDirectoryID.String())
	}
	return json.Marshal(j)
}

// maxQuorumState bounds the file: a voter takes about 20 bytes.
const maxQuorumState = 1 << 20

// readQuorumState returns nil when there is no file. Only the first line counts.
func readQuorumState(fsys vfs.FS, path string) (*quorumState, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxQuorumState {
		return nil, fmt.Errorf("%s: %d bytes, expected is one line", path, size)
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, 0); err != nil && size > 0 {
		return nil, err
	}
	s, err := parseQuorumState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parseQuorumState(text []byte) (*quorumState, error) {
	line, _, _ := strings.Cut(string(text), "\n")
	var j quorumStateJSON
	if err := json.Unmarshal([]byte(line), &j); err != nil {
		return nil, err
	}
	if j.DataVersion == nil {
		return nil, errors.New("data_version is missing")
	}
	s := &quorumState{LeaderID: j.LeaderID, LeaderEpoch: record.LeaderEpoch(j.LeaderEpoch), VotedID: j.VotedID, DataVersion: *j.DataVersion}
	switch s.DataVersion {
	case 0:
		if j.CurrentVoters != nil {
			s.CurrentVoters = []int32{}
			for _, v := range *j.CurrentVoters {
				s.CurrentVoters = append(s.CurrentVoters, v.VoterID)
			}
		}
	case 1:
		if j.VotedDirectoryID != nil {
			id, err := record.ParseUUID(*j.VotedDirectoryID)
			if err != nil {
				return nil, err
			}
			s.VotedDirectoryID = id
		}
	default:
		return nil, fmt.Errorf("%w: data_version %d", ErrTooNew, s.DataVersion)
	}
	return s, nil
}

func writeQuorumState(fsys vfs.FS, path string, s *quorumState) error {
	text, err := s.encode()
	if err != nil {
		return err
	}
	return checkpoint.WriteAtomic(fsys, path, text)
}
