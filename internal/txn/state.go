package txn

// State is where a transactional id stands, with the numbers of its records.
type State int8

// The states. PrepareEpochFence never stands in a record and is never entered here: the abort that fences a producer is
// one step. Its name is known, since clients may filter by it.
const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead
	PrepareEpochFence
	numStates
)

var stateNames = [numStates]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// String is the state's name in Kafka's APIs.
func (s State) String() string {
	if s < 0 || s >= numStates {
		return "Unknown"
	}
	return stateNames[s]
}

// stateNamed finds a state by its name.
func stateNamed(name string) (State, bool) {
	for s, n := range stateNames {
		if n == name {
			return State(s), true
		}
	}
	return 0, false
}

// deciding reports whether the end is decided but not done everywhere.
func (s State) deciding() bool { return s == PrepareCommit || s == PrepareAbort }

// idle reports whether no transaction is open or being ended.
func (s State) idle() bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }

// allows tells whether a record of state to may follow one of state s (TXN-1). An abort of nothing, from a state
// without open transaction, came with transaction version 2.
func (s State) allows(to State) bool {
	switch to {
	case Empty, Dead:
		return s.idle()
	case Ongoing, PrepareAbort:
		return s.idle() || s == Ongoing
	case PrepareCommit:
		return s == Ongoing
	case CompleteCommit:
		return s == PrepareCommit
	case CompleteAbort:
		return s == PrepareAbort
	}
	return false
}
