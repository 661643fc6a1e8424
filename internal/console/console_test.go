package console

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a Node that says what it is told.
type node struct {
	state  State
	dirs   []Directory
	counts Counts
}

func (n *node) State() State         { return n.state }
func (n *node) Loading() []Directory { return n.dirs }
func (n *node) Counts() Counts       { return n.counts }

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// the node is alive from the first moment and ready only when it serves; while it loads it says how far it is.
func TestR26LivenessApartFromReadiness(t *testing.T) {
	n := &node{state: Starting}
	h := Handler(n, Options{})
	for _, c := range []struct {
		state State
		ready int
	}{{Starting, 503}, {Loading, 503}, {Serving, 200}, {Stopping, 503}} {
		n.state = c.state
		if code, _ := get(t, h, "/livez"); code != 200 {
			t.Errorf("%s: /livez is %d", c.state, code)
		}
		if code, body := get(t, h, "/readyz"); code != c.ready || !strings.Contains(body, `"state": "`+string(c.state)+`"`) {
			t.Errorf("%s: /readyz is %d: %s", c.state, code, body)
		}
	}
	n.state = Loading
	n.dirs = []Directory{{Path: "/data", Partitions: 10, Loaded: 3, Bytes: 1000, Read: 250, Current: "a-0", ETA: 1.5}}
	_, body := get(t, h, "/readyz")
	var got health
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Dirs) != 1 || got.Dirs[0] != n.dirs[0] {
		t.Errorf("progress %s: %v", body, err)
	}
}

func TestR04MetricsTellTheProgress(t *testing.T) {
	n := &node{state: Loading, dirs: []Directory{
		{Path: "/a", Partitions: 10, Loaded: 3, Bytes: 1000, Read: 250, ETA: 1.5},
		{Path: "/b", Offline: "input/output error", ETA: -1},
	}}
	code, body := get(t, Handler(n, Options{}), "/metrics")
	if code != 200 {
		t.Fatalf("/metrics is %d", code)
	}
	for _, line := range []string{
		`samsa_state{state="loading"} 1`, `samsa_state{state="serving"} 0`,
		`samsa_load_partitions{dir="/a"} 10`, `samsa_load_partitions_done{dir="/a"} 3`,
		`samsa_recovery_bytes{dir="/a"} 1000`, `samsa_recovery_bytes_done{dir="/a"} 250`, `samsa_recovery_eta_seconds{dir="/a"} 1.5`,
		`samsa_log_dir_online{dir="/a"} 1`, `samsa_log_dir_online{dir="/b"} 0`, `samsa_connections 0`,
		"# TYPE go_goroutines gauge",
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

func TestMetricsOfAServingNode(t *testing.T) {
	n := &node{state: Serving, counts: Counts{
		Dirs:     []DirCounts{{Path: "/a", Online: true, Logs: 2, LogSize: 300, Total: 1 << 40, Usable: 1 << 39}},
		Topics:   []TopicCounts{{Name: "orders", Partitions: 2, LogSize: 300, Held: 1}},
		Requests: []RequestCount{{API: "Produce", Version: 13, Count: 7}}, Connections: 4, Accepted: 9, Refused: 1, Invalid: 2,
		Share: ShareCounts{Sessions: 2, Partitions: 5, InFlight: 40, Acquired: 100, Expired: 3, Acknowledged: map[string]int64{"accept": 90}, LettersWritten: 60, LettersLost: 61, LetterRequests: 62, LetterFailures: 63},
		Scrub: ScrubCounts{On: true, Bytes: 900, Segments: 3, Passes: 2, Dirs: map[string]ScrubDir{
			"/a": {Running: true, Ended: time.UnixMilli(1700000000500), Warnings: 1, Errors: 4}, "/b": {}}},
		GroupCoordinator: GroupCounts{
			States:     map[string]map[string]int64{"classic": {"Stable": 3, "Empty": 1}, "streams": {"NotReady": 2}},
			NumOffsets: 12, OffsetCommits: 34, OffsetExpirations: 35, OffsetDeletions: 36, CompletedRebalances: 37, Rebalances: map[string]int64{"consumer": 38},
		},
		Transactions: TxnCounts{Verifications: 41, VerificationFailures: 42, UnknownDestination: 43, LogAppendRetry: 44, LatePartitions: 45},
		Coordinators: map[string]CoordinatorCounts{"group": {Active: 50, Loading: 2, Failed: 1, Queued: 7, Loads: 53, LoadTime: 1500 * time.Millisecond, LongestLoad: time.Second}},
		OpenFiles:    6, MaxOpenFiles: 100,
		Tasks: []TaskCounts{{Name: "retention", Runs: 5, Failures: 1, LastRun: time.UnixMilli(1700000000500)}},
	}}
	_, body := get(t, Handler(n, Options{}), "/metrics")
	for _, line := range []string{
		`samsa_log_dir_partitions{dir="/a"} 2`, `samsa_log_dir_log_bytes{dir="/a"} 300`, `samsa_log_dir_usable_bytes{dir="/a"} 5.49755813888e+11`,
		`samsa_topic_log_bytes{topic="orders"} 300`, `samsa_topic_partitions{topic="orders"} 2`,
		`samsa_topic_partitions_retention_held{topic="orders"} 1`,
		`samsa_requests_total{api="Produce",version="13"} 7`, `samsa_connections 4`, `samsa_connections_accepted_total 9`,
		`samsa_connections_refused_total 1`, `samsa_connections_invalid_total 2`, `samsa_num_offsets 12`, `samsa_offset_commit_count_total 34`,
		`samsa_group_count{protocol="classic"} 4`, `samsa_group_count{protocol="streams"} 2`, `samsa_classic_group_count{state="Stable"} 3`,
		`samsa_streams_group_count{state="NotReady"} 2`, `samsa_offset_expiration_count_total 35`, `samsa_offset_deletion_count_total 36`,
		`samsa_group_completed_rebalance_count_total 37`, `samsa_consumer_group_rebalance_count_total 38`,
		`samsa_transaction_verification_count_total 41`, `samsa_transaction_verification_failure_count_total 42`, `samsa_unknown_destination_queue_size 43`,
		`samsa_log_append_retry_queue_size 44`, `samsa_partitions_with_late_transactions_count 45`,
		`samsa_coordinator_num_partitions{coordinator="group",state="active"} 50`, `samsa_coordinator_num_partitions{coordinator="group",state="failed"} 1`,
		`samsa_coordinator_event_queue_size{coordinator="group"} 7`, `samsa_coordinator_partition_loads_total{coordinator="group"} 53`,
		`samsa_coordinator_partition_load_time_seconds_total{coordinator="group"} 1.5`, `samsa_coordinator_partition_load_time_max_seconds{coordinator="group"} 1`,
		`samsa_share_sessions 2`, `samsa_share_partitions 5`, `samsa_share_records_in_flight 40`, `samsa_share_records_acquired_total 100`,
		`samsa_share_record_locks_expired_total 3`, `samsa_share_records_acknowledged_total{type="accept"} 90`,
		`samsa_share_dead_letters_total 60`, `samsa_share_dead_letters_lost_total 61`, `samsa_share_dead_letter_writes_total 62`, `samsa_share_dead_letter_writes_failed_total 63`,
		`samsa_scrub_bytes_total 900`, `samsa_scrub_segments_total 3`, `samsa_scrub_passes_total 2`, `samsa_scrub_running{dir="/a"} 1`, `samsa_scrub_running{dir="/b"} 0`,
		`samsa_scrub_findings{dir="/a",severity="error"} 4`, `samsa_scrub_findings{dir="/a",severity="warning"} 1`, `samsa_scrub_last_pass_timestamp_seconds{dir="/a"} 1.7000000005e+09`,
		`samsa_log_files_open 6`, `samsa_log_files_open_max 100`, `samsa_task_runs_total{task="retention"} 5`,
		`samsa_task_failures{task="retention"} 1`, `samsa_task_last_run_timestamp_seconds{task="retention"} 1.7000000005e+09`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s in:\n%s", line, body)
		}
	}
	if strings.Contains(body, `samsa_scrub_last_pass_timestamp_seconds{dir="/b"}`) {
		t.Error("a pass that never was has a time")
	}
	n.counts.Scrub = ScrubCounts{}
	if _, body := get(t, Handler(n, Options{}), "/metrics"); strings.Contains(body, "samsa_scrub") {
		t.Error("metrics of a scrub that is turned off")
	}
}

func TestServeAndClose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(l, &node{state: Serving}, Options{})
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + s.Addr() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != 200 || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %q %v", r.StatusCode, body, err)
	}
	for path, want := range map[string]int{"/": 404, "/livez/x": 404} {
		r, err := client.Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s is %d", path, r.StatusCode)
		}
	}
	r, err = client.Post("http://"+s.Addr()+"/readyz", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != 405 {
		t.Errorf("POST is %d", r.StatusCode)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := client.Get("http://" + s.Addr() + "/livez"); err == nil {
		t.Error("the console answers after Close")
	}
}
