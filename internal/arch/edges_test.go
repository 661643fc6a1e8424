package arch

// edge allows package from to import package to, both relative to the module ("" is the root).
type edge struct{ from, to, why string }

// edges returns every import between packages of this module that is allowed.
func edges() []edge {
	return []edge{
		// floor
		// record and vfs import nothing of ours.

		// engine
		{"storage/checkpoint", "record", "offsets and ids in text files"},
		{"storage/checkpoint", "vfs", "files"},
		{"storage/epoch", "record", "epochs and offsets"},
		{"storage/epoch", "storage/checkpoint", "the cache is kept in a checkpoint file"},
		{"storage/epoch", "vfs", "files"},
		{"storage/index", "record", "offsets and timestamps"},
		{"storage/index", "vfs", "files"},
		{"storage/producer", "record", "batches, producer ids, sequences"},
		{"storage/producer", "vfs", "snapshot files"},
		{"storage/segment", "record", "batches"},
		{"storage/segment", "storage/index", "a segment has its indexes"},
		{"storage/segment", "vfs", "files"},
		{"storage", "record", "batches are what a log holds"},
		{"storage", "storage/checkpoint", "partition.metadata"},
		{"storage", "storage/epoch", "a log has its leader epochs"},
		{"storage", "storage/index", "aborted transactions of a read"},
		{"storage", "storage/producer", "a log has its producer state"},
		{"storage", "storage/segment", "a log is a list of segments"},
		{"storage", "vfs", "files and Regions"},
		{"storage/cleaner", "record", "batches, keys and offsets"},
		{"storage/cleaner", "storage", "the doors through which a log lets itself be cleaned"},
		{"storage/cleaner", "storage/index", "the index of aborted transactions"},
		{"storage/cleaner", "storage/producer", "the last batch of each producer is kept"},
		{"storage/cleaner", "storage/segment", "segments are read and written anew"},
		{"storage/cleaner", "vfs", "files"},
		{"storage/logdir", "storage/cleaner", "a directory has its logs cleaned"},
		{"storage/logdir", "record", "topic partitions and ids"},
		{"storage/logdir", "storage", "a directory holds logs"},
		{"storage/logdir", "storage/checkpoint", "the directory's checkpoint files"},
		{"storage/logdir", "storage/segment", "names of files that are leftovers"},
		{"storage/cleaner", "storage/throttle", "compaction may be slowed down"},
		{"storage/logdir", "storage/throttle", "moves between directories may be slowed down"},
		{"storage/logdir", "vfs", "files, locks, disk usage"},

		// look
		{"inspect", "internal/stored", "dumping the brokers' own records"},
		{"inspect", "record", "batches"},
		{"inspect", "inspect/logfile", "walking segments and indexes"},
		{"inspect", "storage/producer", "producer snapshots"},
		{"inspect", "storage/segment", "names of files"},
		{"inspect", "vfs", "files"},

		{"inspect/logfile", "record", "batches"},
		{"inspect/logfile", "storage/index", "entries of the transaction index"},
		{"inspect/logfile", "storage/segment", "names of files"},
		{"inspect/logfile", "vfs", "files"},
		{"inspect/explain", "inspect/logfile", "walking segments and indexes"},
		{"inspect/explain", "inspect/verify", "names of partition directories"},
		{"inspect/explain", "record", "batches"},
		{"inspect/explain", "storage/checkpoint", "offset checkpoints"},
		{"inspect/explain", "storage/logdir", "names of partition directories"},
		{"inspect/explain", "storage/producer", "the replay that finds open transactions"},
		{"inspect/explain", "storage/segment", "names of files, end markers"},
		{"inspect/explain", "vfs", "files"},
		{"inspect/repair", "inspect/logfile", "walking segments to make indexes anew"},
		{"inspect/repair", "inspect/verify", "what is wrong"},
		{"inspect/repair", "record", "batches"},
		{"inspect/repair", "storage/checkpoint", "names and reading of checkpoints"},
		{"inspect/repair", "storage/producer", "the replay that transaction indexes are made from"},
		{"inspect/repair", "storage/segment", "names of files, end markers"},
		{"inspect/repair", "vfs", "files and the lock"},
		{"inspect/verify", "inspect/logfile", "walking segments and indexes"},
		{"inspect/verify", "record", "batches"},
		{"inspect/verify", "storage/checkpoint", "checkpoints and partition.metadata"},
		{"inspect/verify", "storage/epoch", "leader epochs"},
		{"inspect/verify", "storage/logdir", "names of partition directories"},
		{"inspect/verify", "storage/producer", "producer snapshots, and the replay they are held against"},
		{"inspect/verify", "storage/segment", "names of files, end markers"},
		{"inspect/verify", "vfs", "files"},

		// serve
		{"internal/stored", "record", "ids and the like inside records"},
		{"internal/config", "record", "timestamp types"},
		{"internal/config", "storage", "topic settings become a storage.Config"},
		{"internal/config", "storage/checkpoint", "its reader of java.util.Properties, for server.properties"},
		{"internal/metadata", "internal/stored", "metadata is a log of stored records"},
		{"internal/metadata", "record", "batches of the metadata log and its snapshots"},
		{"internal/metadata", "storage", "the metadata log is a log"},
		{"internal/metadata", "storage/checkpoint", "meta.properties and atomic files"},
		{"internal/metadata", "vfs", "snapshot files"},
		{"internal/wire", "vfs", "sending Regions"},

		// host
		{"internal/coord", "record", "batches of coordinator records"},
		{"internal/coord", "storage", "a shard reads and appends to one log"},
		{"internal/coord", "storage/producer", "a producer's fault is told apart from the partition's"},
		{"internal/replica", "internal/metadata", "who leads what is in the image"},
		{"internal/replica", "record", "offsets and epochs"},
		{"internal/replica", "storage", "a hosted partition is a log"},
		{"internal/replica", "storage/epoch", "leader epoch lookups"},
		{"internal/replica", "storage/logdir", "where hosted logs come from"},

		// decide
		{"internal/controller", "internal/config", "config validation and defaults"},
		{"internal/controller", "internal/metadata", "decisions become records in the store"},
		{"internal/controller", "internal/stored", "the records it emits"},
		{"internal/controller", "record", "ids"},
		{"internal/controller", "storage", "errors of the metadata log become error codes"},
		{"internal/group", "internal/coord", "groups are shards of a coordinator"},
		{"internal/group", "internal/group/assignor", "the names of the assignors"},
		{"internal/group", "internal/group/consumer", "groups of the consumer protocol"},
		{"internal/group", "internal/metadata", "which topics exist"},
		{"internal/group", "internal/stored", "group and offset records"},
		{"internal/group", "record", "batches and offsets"},
		{"internal/group", "storage/producer", "refusals of transactional commits become error codes"},
		{"internal/group/assignor", "record", "topic ids"},
		{"internal/group/consumer", "internal/coord", "a change is records to be written"},
		{"internal/group/consumer", "internal/group/assignor", "target assignments"},
		{"internal/group/consumer", "internal/metadata", "which topics exist"},
		{"internal/group/consumer", "internal/stored", "the records of consumer groups"},
		{"internal/group/consumer", "record", "topic ids"},

		{"internal/share", "internal/replica", "logs of the partitions led here, their leader epochs, who waits for data"},
		{"internal/share", "internal/share/window", "the records in flight"},
		{"internal/share", "record", "headers of batches, ids"},
		{"internal/share", "storage", "bounds of a log, isolation"},
		{"internal/share", "storage/index", "aborted transactions of a read"},
		{"internal/share", "vfs", "Regions of a share fetch"},
		{"internal/share/window", "record", "offsets"},
		{"internal/share/coordinator", "internal/coord", "share partitions are shards of a coordinator"},
		{"internal/share/coordinator", "internal/stored", "the records of share state"},
		{"internal/share/coordinator", "record", "topic ids, offsets"},

		{"internal/txn", "internal/coord", "transactional ids are shards of a coordinator"},
		{"internal/txn", "internal/stored", "transaction records"},
		{"internal/txn", "record", "producer ids, batches of markers"},
		{"internal/txn", "storage", "append options of markers"},
		{"internal/txn", "storage/producer", "which refusals of a marker are final"},

		// edge
		{"internal/handler", "internal/config", "DescribeConfigs and AlterConfigs"},
		{"internal/handler", "internal/controller", "topic administration"},
		{"internal/handler", "internal/group", "group APIs"},
		{"internal/handler", "internal/loglevel", "broker logger configs"},
		{"internal/handler", "internal/metadata", "the image that answers Metadata"},
		{"internal/handler", "internal/replica", "produce, fetch, offsets"},
		{"internal/handler", "internal/share", "ShareFetch, ShareAcknowledge"},
		{"internal/handler", "internal/share/window", "acknowledgements and acquired ranges"},
		{"internal/handler", "internal/share/coordinator", "share state APIs"},
		{"internal/handler", "internal/txn", "transaction APIs, verification of produced partitions"},
		{"internal/handler", "internal/wire", "requests in, replies out"},
		{"internal/handler", "record", "domain types"},
		{"internal/handler", "storage", "errors of the log become error codes"},
		{"internal/handler", "storage/logdir", "DescribeLogDirs"},
		{"internal/handler", "storage/producer", "errors of producers become error codes"},
		{"internal/handler", "vfs", "Regions of a fetch"},

		// compose
		{"", "internal/config", "composition"},
		{"", "internal/console", "composition"},
		{"", "internal/controller", "composition"},
		{"", "internal/coord", "composition"},
		{"", "internal/group", "composition"},
		{"", "internal/handler", "composition"},
		{"", "internal/loglevel", "composition"},
		{"", "internal/metadata", "composition"},
		{"", "internal/replica", "composition"},
		{"", "internal/share", "composition"},
		{"", "internal/share/coordinator", "composition"},
		{"", "internal/txn", "composition"},
		{"", "internal/wire", "composition"},
		{"", "record", "composition"},
		{"", "storage", "composition"},
		{"", "storage/cleaner", "composition: settings of compaction"},
		{"", "storage/logdir", "composition"},
		{"", "vfs", "composition"},
		{"internal/cli", "", "serve runs the broker"},
		{"internal/cli", "inspect", "dump reads files"},
		{"internal/cli", "inspect/explain", "explain"},
		{"internal/cli", "inspect/repair", "repair"},
		{"internal/cli", "inspect/verify", "verify"},
		{"internal/cli", "internal/config", "reads server.properties and the environment"},
		{"internal/cli", "vfs", "the host's files, for the offline commands"},
		{"internal/cli", "record", "ids in Kafka's text form"},
		{"cmd/samsa", "internal/cli", "main"},
	}
}

// modules says which packages of others a package may import, beyond the standard library: import path
// prefixes, each with its reason.
func modules() map[string]map[string]string {
	const messages = "the protocol's messages"
	return map[string]map[string]string{
		"record": {
			"github.com/klauspost/compress/": "gzip, snappy, zstd",
			"github.com/pierrec/lz4/v4":      "lz4 frames with the block options that Kafka clients understand",
		},
		"vfs":                 {"golang.org/x/sys/": "locks, disk usage"},
		"inspect/logfile":     {"golang.org/x/sys/": "what the page cache holds, and giving it back"},
		"internal/wire":       {"github.com/twmb/franz-go/pkg/": messages, "golang.org/x/sys/": "sendfile"},
		"internal/wire/gen":   {"github.com/twmb/franz-go/pkg/kmsg": messages},
		"internal/handler":    {"github.com/twmb/franz-go/pkg/": messages},
		"internal/controller": {"github.com/twmb/franz-go/pkg/": messages},
		"internal/group":      {"github.com/twmb/franz-go/pkg/": messages},

		"internal/group/consumer":    {"github.com/twmb/franz-go/pkg/": messages},
		"internal/share":             {"github.com/twmb/franz-go/pkg/": messages},
		"internal/share/coordinator": {"github.com/twmb/franz-go/pkg/": messages},
		"internal/txn":               {"github.com/twmb/franz-go/pkg/": messages},
		"internal/console":           {"github.com/prometheus/client_golang/prometheus": "metrics in Prometheus' text format"},
		"internal/longtest":          {"pgregory.net/rapid": "how many random histories a model test runs"},
		"internal/cli":               {"github.com/twmb/franz-go/pkg/": "the client and admin client", "github.com/spf13/": "the command line"},
	}
}

// engine lists the packages of ARCH-3.
func engine() []string {
	return []string{"record", "vfs", "storage", "storage/checkpoint", "storage/cleaner", "storage/epoch", "storage/index", "storage/logdir",
		"storage/producer", "storage/segment", "storage/throttle", "inspect", "inspect/explain", "inspect/logfile", "inspect/repair", "inspect/verify"}
}
