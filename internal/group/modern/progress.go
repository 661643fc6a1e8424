package modern

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// The epochs in a request that mean something else than an epoch.
const (
	Join        = 0
	Leave       = -1
	LeaveStatic = -2
)

// FirstEpoch is the epoch of a group before anything was written about it.
const FirstEpoch = 1

// Progress is how far a group has come.
type Progress struct {
	// Epoch is raised whenever there is reason for a new assignment; AssignmentEpoch is that of the present target
	// assignment and never above.
	Epoch, AssignmentEpoch int32
	// AssignmentMs is when that was made; 0 when that does not matter.
	AssignmentMs int64
	// MetadataHash is over the topics that the assignment depends on; 0 for none.
	MetadataHash int64
	// Dead is set when the group's record was removed.
	Dead bool
}

// Begun is the progress of a group of which nothing is written.
func Begun() Progress { return Progress{Epoch: FirstEpoch, AssignmentEpoch: FirstEpoch} }

// Assigned notes that a target assignment was made for an epoch.
func (p *Progress) Assigned(epoch int32, ms int64) { p.AssignmentEpoch, p.AssignmentMs = epoch, ms }

// Unassigned notes that there is no target assignment.
func (p *Progress) Unassigned() { p.AssignmentEpoch, p.AssignmentMs = -1, 0 }

// Wants reports whether there is reason for a new assignment.
func (p *Progress) Wants() bool { return p.Epoch > p.AssignmentEpoch }

// Rested reports whether the last assignment is so long ago that there may be another one.
func (p *Progress) Rested(interval time.Duration, nowMs int64) bool {
	return p.AssignmentMs == 0 || nowMs-p.AssignmentMs >= interval.Milliseconds()
}

// CheckEpoch decides whether a member that has an epoch, and had previous before it, may come with another one. One that
// did not see the last answer comes with the epoch before, and holds nothing that it was not given; one that joins
// again, after whatever happened to it, is let in.
func CheckEpoch(said, epoch, previous int32, holdsOnlyItsOwn bool) *kerr.Error {
	switch {
	case said == Join, said == epoch:
		return nil
	case said > epoch, said != previous, !holdsOnlyItsOwn:
		return kerr.FencedMemberEpoch
	}
	return nil
}

// SameString compares two strings that may be left out.
func SameString(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
