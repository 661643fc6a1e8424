package metadata

import "errors"

// What keeps a metadata log from being opened or written. Compare with errors.Is; the text around says more.
var (
	// ErrTooNew: the log holds records or feature levels of a newer Kafka. Nothing was written.
	ErrTooNew = errors.New("written by a newer version")
	// ErrTooOld: the log is at a metadata.version that Kafka 4 left behind. Nothing was written.
	ErrTooOld = errors.New("written by a version that is too old")
	// ErrNotSoleVoter: the log belongs to a controller quorum that this node is not the only voter of.
	ErrNotSoleVoter = errors.New("not the only voter of the controller quorum")
	// ErrInvalidRecord: a record contradicts the state that it applies to.
	ErrInvalidRecord = errors.New("invalid metadata record")
	// ErrInvalidSnapshot: a snapshot file is damaged or incomplete.
	ErrInvalidSnapshot = errors.New("invalid snapshot")
	// ErrGap: the records between the newest snapshot and the start of the log are missing.
	ErrGap = errors.New("metadata log does not reach back to a snapshot")
	// ErrDamaged: the log is damaged where it had been whole on disk. Nothing was written.
	ErrDamaged = errors.New("damaged metadata log")
	// ErrClosed: the Store was closed.
	ErrClosed = errors.New("metadata store is closed")
	// ErrTooLarge: records that must be written in one batch do not fit into one.
	ErrTooLarge = errors.New("too many records for one batch")
	// ErrFormatted: a directory that was to be formatted is formatted already.
	ErrFormatted = errors.New("directory is formatted already")
)
