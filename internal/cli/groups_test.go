package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestGroups(t *testing.T) {
	s := shell{t, startBroker(t)}
	s.ok("", "topics", "create", "t", "-p", "2")
	s.ok("1\n2\n3\n", "produce", "t", "-p", "0")
	s.ok("4\n", "produce", "t", "-p", "1")
	s.ok("", "consume", "t", "-g", "g", "-n", "4")
	if list := s.ok("", "groups", "list"); !regexp.MustCompile(`(?m)^g\s+classic\s+Empty\s+consumer`).MatchString(list) {
		t.Errorf("list:\n%s", list)
	}
	describe := func() *groupView { t.Helper(); return describeOne(t, s, "g") }
	if g := describe(); g.TotalLag != 0 || len(g.Partitions) != 2 || g.Partitions[0].Committed != 3 {
		t.Errorf("after reading all: %+v", g)
	}
	// A reset shows its plan and does nothing until it is told to.
	want := "TOPIC  PARTITION  CURRENT  NEW\nt              0        3    1\n"
	s.equal(s.ok("", "groups", "reset", "g", "--topic", "t:0", "--to", "1"), want)
	if g := describe(); g.TotalLag != 0 {
		t.Errorf("a plan has moved the group: %+v", g)
	}
	s.equal(s.ok("", "groups", "reset", "g", "--topic", "t:0", "--to", "1", "--execute"), want)
	if g := describe(); g.TotalLag != 2 {
		t.Errorf("after the reset: %+v", g)
	}
	s.equal(s.ok("", "consume", "t", "-g", "g", "-n", "2"), "2\n3\n")
	s.equal(s.ok("", "groups", "reset", "g", "--all-topics", "--shift", "-1"), "TOPIC  PARTITION  CURRENT  NEW\nt              0        3    2\nt              1        1    0\n")
	s.fails(exitUsage, []string{"groups", "reset", "g", "--to", "1"}, "say what to reset")
	s.fails(exitUsage, []string{"groups", "reset", "g", "--all-topics"}, "say where to go")
	s.fails(exitFailure, []string{"groups", "reset", "g", "-t", "t:9", "--to", "1"}, "partition 9 of topic t")
	s.ok("", "groups", "delete", "g")
	s.fails(exitFailure, []string{"groups", "describe", "g"}, "GROUP_ID_NOT_FOUND", "samsa groups list")
}

// TestShareGroups: a share group is listed, described with what it has not done, and deleted as others are.
func TestShareGroups(t *testing.T) {
	s := shell{t, startBroker(t)}
	s.ok("", "topics", "create", "t")
	s.ok("1\n2\n3\n", "produce", "t")
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).AlterShareGroupOffsets(t.Context(), "g", kadm.Offsets{"t": {0: {Topic: "t", At: 1}}}); err != nil {
		t.Fatal(err)
	}
	if list := s.ok("", "groups", "list"); !regexp.MustCompile(`(?m)^g\s+share\s+Empty\s+share`).MatchString(list) {
		t.Errorf("list:\n%s", list)
	}
	if g := describeOne(t, s, "g"); g.Type != "share" || g.TotalLag != 2 || len(g.Partitions) != 1 || g.Partitions[0].Committed != 1 || g.Partitions[0].End != 3 {
		t.Errorf("described: %+v", g)
	}
	// It is reset as others are.
	want := "TOPIC  PARTITION  CURRENT  NEW\nt              0        1    0\n"
	s.equal(s.ok("", "groups", "reset", "g", "--all-topics", "--to", "earliest"), want)
	if g := describeOne(t, s, "g"); g.Partitions[0].Committed != 1 {
		t.Errorf("a plan has moved the group: %+v", g)
	}
	s.equal(s.ok("", "groups", "reset", "g", "--all-topics", "--to", "earliest", "--execute"), want)
	for _, move := range []struct {
		args   []string
		now    int64
		behind int64
	}{{nil, 0, 3}, {[]string{"--to", "latest"}, 3, 0}, {[]string{"--to", "2"}, 2, 1}, {[]string{"--shift", "-1"}, 1, 2}, {[]string{"--to", "@2020-01-01T00:00:00Z"}, 0, 3}} {
		if move.args != nil {
			s.ok("", append([]string{"groups", "reset", "g", "--topic", "t:0", "--execute"}, move.args...)...)
		}
		if g := describeOne(t, s, "g"); g.Partitions[0].Committed != move.now || g.TotalLag != move.behind {
			t.Errorf("after %v: %+v", move.args, g)
		}
	}
	s.ok("", "groups", "reset", "new", "--share", "--topic", "t", "--to", "1", "--execute")
	if g := describeOne(t, s, "new"); g.Type != "share" || g.Partitions[0].Committed != 1 {
		t.Errorf("a group that was made: %+v", g)
	}
	s.ok("", "consume", "t", "-g", "other", "-n", "3")
	s.fails(exitFailure, []string{"groups", "reset", "other", "--share", "--topic", "t", "--to", "1"}, "group other is not a share group")
	s.ok("", "groups", "delete", "g")
	s.fails(exitFailure, []string{"groups", "describe", "g"}, "GROUP_ID_NOT_FOUND")
}

// TestShareGroupsWithMembersAreNotReset: it says so, and what to do.
func TestShareGroupsWithMembersAreNotReset(t *testing.T) {
	s := shell{t, startBroker(t)}
	s.ok("", "topics", "create", "t")
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.addr), kgo.ShareGroup("g"), kgo.ConsumeTopics("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for joined := false; !joined; {
		groups, err := kadm.NewClient(cl).DescribeShareGroups(t.Context(), "g")
		if err != nil {
			t.Fatal(err)
		}
		joined = len(groups["g"].Members) > 0
	}
	r := s.run("", "groups", "reset", "g", "--topic", "t", "--to", "earliest", "--execute")
	if r.status != exitFailure || !strings.Contains(r.stderr, "group g has members") || !strings.Contains(r.stderr, "Stop them first") {
		t.Errorf("status %d\n%s", r.status, r.stderr)
	}
}

func describeOne(t *testing.T, s shell, group string) *groupView {
	t.Helper()
	var groups []*groupView
	if err := json.Unmarshal([]byte(s.ok("", "groups", "describe", group, "--json")), &groups); err != nil || len(groups) != 1 {
		t.Fatal(err)
	}
	return groups[0]
}
