package console

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics asks the node when it is scraped: nothing is counted twice, and a scrape costs what it shows.
type metrics struct {
	n                                                       Node
	state                                                   *prometheus.Desc
	loadPartitions, loaded, recoveryBytes, recovered, eta   *prometheus.Desc
	online, dirSize, dirTotal, dirUsable, dirLogs           *prometheus.Desc
	topicSize, topicPartitions, topicHeld                   *prometheus.Desc
	requests, connections, accepted, refused, invalid       *prometheus.Desc
	coordinators                                            coordinatorMetrics
	share                                                   shareMetrics
	scrub                                                   scrubMetrics
	openFiles, maxOpenFiles, taskRuns, taskFailed, taskLast *prometheus.Desc
}

func newMetrics(n Node) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("samsa_"+name, help, labels, nil)
	}
	return &metrics{
		n:               n,
		coordinators:    newCoordinatorMetrics(desc),
		share:           newShareMetrics(desc),
		scrub:           newScrubMetrics(desc),
		state:           desc("state", "1 for the state that the node is in.", "state"),
		loadPartitions:  desc("load_partitions", "Partitions that a log directory held at the start.", "dir"),
		loaded:          desc("load_partitions_done", "Partitions of them that were loaded or set aside.", "dir"),
		recoveryBytes:   desc("recovery_bytes", "Bytes that have to be checked because the last stop was not an orderly one.", "dir"),
		recovered:       desc("recovery_bytes_done", "Bytes of them that were checked.", "dir"),
		eta:             desc("recovery_eta_seconds", "How long loading goes on at the present pace; -1 when that is not known.", "dir"),
		online:          desc("log_dir_online", "1 while a log directory is used, 0 once it has failed.", "dir"),
		dirLogs:         desc("log_dir_partitions", "Partitions in a log directory.", "dir"),
		dirSize:         desc("log_dir_log_bytes", "Size of the logs in a log directory.", "dir"),
		dirTotal:        desc("log_dir_total_bytes", "Size of the file system of a log directory.", "dir"),
		dirUsable:       desc("log_dir_usable_bytes", "What is free on it.", "dir"),
		topicSize:       desc("topic_log_bytes", "Size of the logs of a topic on this node.", "topic"),
		topicPartitions: desc("topic_partitions", "Partitions of a topic on this node.", "topic"),
		topicHeld:       desc("topic_partitions_retention_held", "Partitions of them where a timestamp in the future keeps old segments from expiring.", "topic"),
		requests:        desc("requests_total", "Well-formed requests.", "api", "version"),
		connections:     desc("connections", "Connections that are open."),
		accepted:        desc("connections_accepted_total", "Connections that were served."),
		refused:         desc("connections_refused_total", "Connections that were ended because their address had too many."),
		invalid:         desc("connections_invalid_total", "Connections that were ended for what they sent."),
		openFiles:       desc("log_files_open", "Files of logs that are open."),
		maxOpenFiles:    desc("log_files_open_max", "How many files of logs are kept open at most."),
		taskRuns:        desc("task_runs_total", "Runs of a background task.", "task"),
		taskFailed:      desc("task_failures", "Partitions and files that the last run of a background task had errors with.", "task"),
		taskLast:        desc("task_last_run_timestamp_seconds", "When the last run of a background task began.", "task"),
	}
}

// Describe sends nothing: which series there are depends on the node's state, so they are not checked beforehand.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	out := sink(ch)
	now := m.n.State()
	for _, s := range []State{Starting, Loading, Serving, Stopping} {
		out.gauge(m.state, bool2float(s == now), string(s))
	}
	for _, d := range m.n.Loading() {
		out.gauge(m.loadPartitions, float64(d.Partitions), d.Path)
		out.gauge(m.loaded, float64(d.Loaded), d.Path)
		out.gauge(m.recoveryBytes, float64(d.Bytes), d.Path)
		out.gauge(m.recovered, float64(d.Read), d.Path)
		out.gauge(m.eta, d.ETA, d.Path)
		out.gauge(m.online, bool2float(d.Offline == ""), d.Path)
	}
	m.collect(out, m.n.Counts())
}

func (m *metrics) collect(out sink, c Counts) {
	for _, d := range c.Dirs {
		out.gauge(m.dirLogs, float64(d.Logs), d.Path)
		out.gauge(m.dirSize, float64(d.LogSize), d.Path)
		out.gauge(m.dirTotal, float64(d.Total), d.Path)
		out.gauge(m.dirUsable, float64(d.Usable), d.Path)
	}
	for _, t := range c.Topics {
		out.gauge(m.topicSize, float64(t.LogSize), t.Name)
		out.gauge(m.topicPartitions, float64(t.Partitions), t.Name)
		out.gauge(m.topicHeld, float64(t.Held), t.Name)
	}
	for _, r := range c.Requests {
		out.counter(m.requests, float64(r.Count), r.API, strconv.Itoa(int(r.Version)))
	}
	out.gauge(m.connections, float64(c.Connections))
	out.counter(m.accepted, float64(c.Accepted))
	out.counter(m.refused, float64(c.Refused))
	out.counter(m.invalid, float64(c.Invalid))
	m.coordinators.collect(out, c)
	m.share.collect(out, c.Share)
	m.scrub.collect(out, c.Scrub)
	out.gauge(m.openFiles, float64(c.OpenFiles))
	out.gauge(m.maxOpenFiles, float64(c.MaxOpenFiles))
	for _, t := range c.Tasks {
		out.counter(m.taskRuns, float64(t.Runs), t.Name)
		out.gauge(m.taskFailed, float64(t.Failures), t.Name)
		if !t.LastRun.IsZero() {
			out.gauge(m.taskLast, float64(t.LastRun.UnixMilli())/1000, t.Name)
		}
	}
}

// sink sends metrics.
type sink chan<- prometheus.Metric

func (s sink) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (s sink) counter(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func bool2float(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
