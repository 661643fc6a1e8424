package config

// ownRows holds the settings that Apache Kafka does not have. They are not described to admin clients, unless they are
// set, so that a tool that compares brokers sees Kafka's keys.
var ownRows = []row{
	{"samsa.http.listen", String, none, ReadOnly, nil, "host:port that answers /livez, /readyz and /metrics over HTTP; without a value there is none."},
	{"samsa.http.profiles", Boolean, "false", ReadOnly, nil, "Whether samsa.http.listen also answers /debug/pprof/, the profiles of the Go runtime."},
	{"samsa.log.dir.reserve.bytes", Long, "0", ReadOnly, atLeast(0), "What must stay free in each log directory; below it producers get a storage error that passes, consumers and deletions go on."},
	{"samsa.max.open.files", Int, "0", ReadOnly, atLeast(0), "Most files of logs that are open at a time; 0 is a quarter of what the process may open."},
	{"samsa.scrub.initial.delay.ms", Long, "600000", ReadOnly, atLeast(0), "How long after the start the background scrub begins to read."},
	{"samsa.scrub.interval.ms", Long, "604800000", ReadOnly, atLeast(0), "How often the checksums of all sealed segments are checked in the background; 0: never."},
	{"samsa.scrub.max.bytes.per.second", Long, "4194304", ReadOnly, atLeast(1), "How much the background scrub reads at most."},
}
