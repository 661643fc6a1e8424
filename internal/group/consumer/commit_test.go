package consumer

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/record"
)

// Who may commit, with which epoch, from which version on.
func TestMayCommit(t *testing.T) {
	g, topic := New("g"), record.UUID{1}
	m := newMember("m")
	m.Epoch, m.Assigned = 5, Partitions{topic: {0: 3}}
	m.Revoking = Partitions{topic: {1: 2}}
	g.put(m)
	c := newMember("c")
	c.Epoch, c.Classic = 5, &Classic{Protocols: []Protocol{{Name: "range"}}}
	g.put(c)
	for _, x := range []struct {
		name string
		c    Commit
		want *kerr.Error
	}{
		{"a member", Commit{MemberID: "m", Epoch: 5, Version: 9}, nil},
		{"a member, old version", Commit{MemberID: "m", Epoch: 5, Version: 8}, kerr.UnsupportedVersion},
		{"a member, old version, in a transaction", Commit{MemberID: "m", Epoch: 5, Transactional: true}, nil},
		{"a member ahead", Commit{MemberID: "m", Epoch: 6, Version: 9}, kerr.StaleMemberEpoch},
		{"a member ahead, in a transaction", Commit{MemberID: "m", Epoch: 6, Transactional: true}, kerr.IllegalGeneration},
		{"a classic member, old version", Commit{MemberID: "c", Epoch: 5, Version: 2}, nil},
		{"a classic member ahead", Commit{MemberID: "c", Epoch: 6, Version: 2}, kerr.IllegalGeneration},
		{"nobody", Commit{MemberID: "x", Epoch: 5, Version: 9}, kerr.UnknownMemberID},
		{"from outside", Commit{Epoch: -1, Version: 9}, kerr.UnknownMemberID},
		{"from outside, in a transaction", Commit{Epoch: -1, Transactional: true}, nil},
	} {
		if _, got := g.MayCommit(x.c); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
	if _, e := New("empty").MayCommit(Commit{Epoch: -1}); e != nil {
		t.Errorf("from outside to an empty group: %v", e)
	}
	for _, x := range []struct {
		epoch, partition int32
		want             bool
	}{{5, 7, true}, {4, 0, true}, {3, 0, true}, {2, 0, false}, {2, 1, true}, {1, 1, false}, {4, 7, false}, {-1, 0, false}} {
		if got := m.HeldSince(x.epoch, topic, x.partition); got != x.want {
			t.Errorf("partition %d since %d: %v", x.partition, x.epoch, got)
		}
	}
}
