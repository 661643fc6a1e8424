package console

import "time"

// Node is what the console shows. All methods may be called at any time, from before the logs are loaded until after
// the broker has stopped.
type Node interface {
	// State says where the node is in its life.
	State() State
	// Loading is how far each log directory is; nil before they are known.
	Loading() []Directory
	// Counts are what /metrics shows besides; the zero Counts before the node serves.
	Counts() Counts
}

// State is where a node is in its life.
type State string

// The states, in their order.
const (
	Starting State = "starting"
	Loading  State = "loading"
	Serving  State = "serving"
	Stopping State = "stopping"
)

// Directory is one log directory.
type Directory struct {
	Path string `json:"path"`
	// Offline is why the directory is; "" while it is not.
	Offline string `json:"offline,omitempty"`
	// Done: all its partitions were handled.
	Done bool `json:"done"`
	// Partitions is how many there are, Loaded how many were handled.
	Partitions int `json:"partitions"`
	Loaded     int `json:"loaded"`
	// Bytes is how much has to be read again after a crash, Read how much was.
	Bytes int64 `json:"recovery_bytes"`
	Read  int64 `json:"recovered_bytes"`
	// Current is a partition that is being loaded.
	Current string `json:"current,omitempty"`
	// ETA is how long the rest takes at the present pace, in seconds; negative: not known yet.
	ETA float64 `json:"eta_seconds"`
}

// Counts are the numbers of a serving node.
type Counts struct {
	Dirs     []DirCounts
	Topics   []TopicCounts
	Requests []RequestCount
	// Connections are those open now; the others count since the start.
	Connections                int64
	Accepted, Refused, Invalid uint64
	Share                      ShareCounts
	Scrub                      ScrubCounts
	// GroupCoordinator and Transactions are the counts of the coordinators, Coordinators those of the partitions that they
	// keep their state in, by the coordinator's name.
	GroupCoordinator GroupCounts
	Transactions     TxnCounts
	Coordinators     map[string]CoordinatorCounts
	// OpenFiles are the files of logs that are open, MaxOpenFiles how many may be.
	OpenFiles, MaxOpenFiles int
	Tasks                   []TaskCounts
}

// DirCounts describes one log directory.
type DirCounts struct {
	Path    string
	Online  bool
	Logs    int
	LogSize int64
	Total   uint64
	Usable  uint64
}

// TopicCounts describes the partitions of one topic that live here.
type TopicCounts struct {
	Name       string
	Partitions int
	LogSize    int64
	// Held is in how many of them a timestamp in the future holds up retention.
	Held int
}

// RequestCount is how often an API was asked at one version.
type RequestCount struct {
	API     string
	Version int16
	Count   uint64
}

// TaskCounts describes a background task.
type TaskCounts struct {
	Name     string
	Runs     int64
	Failures int // of the last run
	LastRun  time.Time
}
