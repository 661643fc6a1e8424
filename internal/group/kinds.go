package group

// kind is what a group is.
type kind int8

const (
	classicKind kind = iota
	consumerKind
	shareKind
	streamsKind
)

// kindOf says to which kind of group a record type belongs; classic for offsets, classic groups and types that nobody
// writes (9, 18) or knows.
func kindOf(recordType int16) kind {
	switch {
	case recordType >= 3 && recordType <= 8, recordType == 16:
		return consumerKind
	case recordType >= 10 && recordType <= 15:
		return shareKind
	case recordType == 17, recordType >= 19 && recordType <= 23:
		return streamsKind
	}
	return classicKind
}
