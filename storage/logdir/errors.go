package logdir

import (
	"errors"
	"io/fs"
	"os"

	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/vfs"
)

// What opening directories and changing partitions can refuse. Callers compare with errors.Is.
var (
	// ErrLocked: another process, or another Manager of this one, uses the directory.
	ErrLocked = errors.New("log directory is in use")
	// ErrNotFormatted: the directory is missing or has no meta.properties.
	ErrNotFormatted = errors.New("log directory is not formatted")
	// ErrAlreadyFormatted: the directory has a meta.properties that formatting would replace.
	ErrAlreadyFormatted = errors.New("log directory is formatted already")
	// ErrZooKeeper: the directory was written while Kafka kept its metadata in ZooKeeper.
	ErrZooKeeper = errors.New("log directory of a cluster with ZooKeeper")
	// ErrInconsistent: the directories contradict each other: cluster, node, ids, places.
	ErrInconsistent = errors.New("log directories do not belong together")
	// ErrNoDirectory: no directory is usable.
	ErrNoDirectory = errors.New("no usable log directory")
	// ErrOffline: the partition is, or may be, in a directory that failed, or could not be loaded. It is a storage
	// error too.
	ErrOffline error = offlineError{}
	// ErrExists: another incarnation of the topic has a log of that name.
	ErrExists = errors.New("partition exists with another topic id")
	// ErrNotFound: there is no such log.
	ErrNotFound = errors.New("no such log")
	// ErrNoSuchDirectory: no log directory has that path.
	ErrNoSuchDirectory = errors.New("no such log directory")
	// ErrNameTooLong: the file system cannot name the copy of a partition with so long a topic name.
	ErrNameTooLong = errors.New("name of a partition directory is too long")
	// ErrClosed: the Manager was closed.
	ErrClosed = errors.New("log directories are closed")
)

// offlineError is the type of ErrOffline.
type offlineError struct{}

func (offlineError) Error() string        { return "partition is offline" }
func (offlineError) Is(target error) bool { return target == storage.ErrStorage }

// isIO reports whether the environment, not the content of a file, is at fault: such an error concerns the directory.
// Corrupt content and contradictions concern one partition; that something has run out concerns who asked (DIR-8).
func isIO(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	if isShortage(err) {
		return false
	}
	return errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call)
}

// isShortage reports whether err says that something has run out and can be tried again. A log says so itself: what it
// calls a storage error only, such as an fsync without room, is final.
func isShortage(err error) bool {
	return errors.Is(err, storage.ErrShortage) || vfs.IsShortage(err) && !errors.Is(err, storage.ErrStorage)
}
