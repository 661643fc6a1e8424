package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startBroker runs a broker until the test ends and returns its address. properties are names and values in turn.
func startBroker(t *testing.T, properties ...string) string {
	t.Helper()
	props := map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}
	for i := 0; i < len(properties); i += 2 {
		props[properties[i]] = properties[i+1]
	}
	b, err := samsa.Start(t.Context(), samsa.Config{Dirs: []string{t.TempDir()}, Listen: "127.0.0.1:0", Properties: props})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return b.Addr()
}

// shell runs samsa commands against one broker.
type shell struct {
	t    *testing.T
	addr string
}

// result is what a command printed and how it ended.
type result struct {
	stdout, stderr string
	status         int
}

func (s shell) run(stdin string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	status := Main(ctx, append(args, "--bootstrap", s.addr), strings.NewReader(stdin), &stdout, &stderr)
	if ctx.Err() != nil {
		s.t.Errorf("samsa %s did not end by itself", strings.Join(args, " "))
	}
	return result{stdout.String(), stderr.String(), status}
}

// ok runs a command that must succeed and returns its standard output.
func (s shell) ok(stdin string, args ...string) string {
	s.t.Helper()
	r := s.run(stdin, args...)
	if r.status != exitOK {
		s.t.Fatalf("samsa %s: status %d\n%s", strings.Join(args, " "), r.status, r.stderr)
	}
	return r.stdout
}

// fails runs a command that must fail, with all of texts on standard error and nothing on standard output.
func (s shell) fails(status int, args []string, texts ...string) {
	s.t.Helper()
	r := s.run("", args...)
	if r.status != status || r.stdout != "" {
		s.t.Errorf("samsa %s: status %d, want %d; printed %q", strings.Join(args, " "), r.status, status, r.stdout)
	}
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			s.t.Errorf("samsa %s said %q, want %q", strings.Join(args, " "), r.stderr, text)
		}
	}
}

func (s shell) equal(got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTopics(t *testing.T) {
	s := shell{t, startBroker(t)}
	s.ok("", "topics", "create", "orders", "-p", "3", "-c", "retention.ms=86400000")
	s.ok("", "topics", "create", "orders", "--if-not-exists")
	s.fails(exitFailure, []string{"topics", "create", "orders"}, "topic orders was not created", "already exists", "--if-not-exists")
	s.fails(exitFailure, []string{"topics", "create", "a/b"}, "INVALID_TOPIC_EXCEPTION", "249 characters")
	s.fails(exitFailure, []string{"topics", "create", "x", "-c", "no.such=1"}, "no.such")
	s.fails(exitUsage, []string{"topics", "create", "x", "-c", "nothing"}, "not NAME=VALUE")
	s.equal(s.ok("", "topics", "list"), "TOPIC   PARTITIONS  REPLICATION\norders           3            1\n")
	s.ok("a\nb\n", "produce", "orders", "-p", "1")

	described := s.ok("", "topics", "describe", "orders")
	for _, want := range []string{"set   retention.ms=86400000\n", "\n        1       1 "} {
		if !strings.Contains(described, want) {
			t.Errorf("describe lacks %q:\n%s", want, described)
		}
	}
	var topics []describedTopic
	if err := json.Unmarshal([]byte(s.ok("", "topics", "describe", "orders", "--json")), &topics); err != nil {
		t.Fatal(err)
	}
	if p := topics[0].Partitions[1]; len(topics[0].ID) != 22 || p.EndOffset != 2 || p.SizeBytes <= 0 || p.Leader != 1 {
		t.Errorf("described as %+v", topics[0])
	}

	s.ok("", "topics", "alter", "orders", "-p", "4", "-c", "segment.ms=100000", "--unset", "retention.ms")
	if described := s.ok("", "topics", "describe", "orders"); !strings.Contains(described, "segment.ms=100000") || strings.Contains(described, "retention.ms") {
		t.Errorf("after alter:\n%s", described)
	}
	s.fails(exitFailure, []string{"topics", "alter", "orders", "-p", "2"}, "did not grow", "never shrink")
	s.fails(exitUsage, []string{"topics", "alter", "orders"}, "say what to change")
	s.ok("", "topics", "delete", "orders")
	s.fails(exitFailure, []string{"topics", "delete", "orders"}, "was not deleted")
	s.ok("", "topics", "delete", "orders", "--if-exists")
}

func TestProduceAndConsume(t *testing.T) {
	s := shell{t, startBroker(t)}
	s.ok("", "topics", "create", "t")
	s.ok("a:1\nb:NULL\nc:\n", "produce", "t", "-k", ":", "--null", "NULL", "-H", "x=y", "-z", "zstd")
	const format = `%o %k=%v %h{%k:%v}\n`
	s.equal(s.ok("", "consume", "t", "--to", "end", "-f", format), "0 a=1 x:y\n1 b= x:y\n2 c= x:y\n")
	s.equal(s.ok("", "consume", "t", "--to", "2", "-f", format), "0 a=1 x:y\n1 b= x:y\n")
	s.equal(s.ok("", "consume", "t", "--from", "-1", "--to", "end", "-f", format), "2 c= x:y\n")
	s.equal(s.ok("", "consume", "t", "--from", "1", "-n", "1", "-f", format), "1 b= x:y\n")
	s.equal(s.ok("", "consume", "t", "--from", "@1h", "--to", "end", "-f", `%o`), "012")
	s.equal(s.ok("", "consume", "t", "--from", "latest", "--to", "end"), "")
	s.equal(s.ok("", "consume", "t", "--idle", "200ms", "-f", `%o`), "012")

	lines := s.ok("", "consume", "t", "--to", "end", "--json")
	if !strings.Contains(lines, `"offset":1`) || !strings.Contains(lines, `"value":null`) {
		t.Errorf("JSON:\n%s", lines)
	}
	s.ok(lines, "produce", "copy", "--input", "json")
	stamp := regexp.MustCompile(`"topic":"\w+",`)
	s.equal(stamp.ReplaceAllString(s.ok("", "consume", "copy", "--to", "end", "--json"), ""), stamp.ReplaceAllString(lines, ""))

	for _, acks := range []string{"0", "1", "all"} {
		s.ok("x\n", "produce", "acks", "--acks", acks)
	}
	s.equal(s.ok("", "consume", "acks", "-n", "3"), "x\nx\nx\n")
	s.fails(exitFailure, []string{"consume", "nowhere"}, "topic nowhere", "samsa topics create")
	s.fails(exitFailure, []string{"consume", "t", "-p", "5"}, "partition 5 of topic t")
	s.fails(exitUsage, []string{"consume", "t", "--from", "soon"}, "not a position")
	s.fails(exitUsage, []string{"consume", "t", "-f", "%"}, "--format")
	s.fails(exitUsage, []string{"produce", "t", "-z", "rar"}, `no codec "rar"`)
	if r := s.run("{\"value\":\"ok\"}\n{\"valu\":1}\n", "produce", "t", "--input", "json"); r.status != exitFailure || !strings.Contains(r.stderr, "line 2") || !strings.Contains(r.stderr, "wrote 1 record") {
		t.Errorf("a wrong line gave status %d: %s", r.status, r.stderr)
	}
	if r := s.run(`{"value":"x","partition":7}`, "produce", "t", "--input", "json"); r.status != exitFailure || !strings.Contains(r.stderr, "no partition 7") || !strings.Contains(r.stderr, "--repartition") {
		t.Errorf("a wrong partition gave status %d: %s", r.status, r.stderr)
	}
	s.ok(`{"value":"x","partition":7}`, "produce", "t", "--input", "json", "--repartition")
}

// TestProduceLargeRecord: a record of 5 MB goes where the topic allows it, and is refused with advice where
// it does not.
func TestProduceLargeRecord(t *testing.T) {
	s := shell{t, startBroker(t)}
	large := strings.Repeat("0123456789", 500_000)
	s.ok("", "topics", "create", "small", "large")
	s.ok("", "topics", "alter", "large", "-c", "max.message.bytes=6000000")
	s.ok(large, "produce", "large")
	s.equal(s.ok("", "consume", "large", "--to", "end"), large+"\n")
	if r := s.run(large, "produce", "small"); r.status != exitFailure || !strings.Contains(r.stderr, "MESSAGE_TOO_LARGE") || !strings.Contains(r.stderr, "max.message.bytes") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// TestGroupCommitsWhatWasPrinted is CLI-4: a count that ends in the middle of a fetch leaves the rest.
func TestGroupCommitsWhatWasPrinted(t *testing.T) {
	s := shell{t, startBroker(t)}
	s.ok("", "topics", "create", "t")
	s.ok("1\n2\n3\n4\n5\n", "produce", "t")
	s.equal(s.ok("", "consume", "t", "-g", "g", "-n", "2"), "1\n2\n")
	s.equal(s.ok("", "consume", "t", "-g", "g", "-n", "2"), "3\n4\n")
	s.equal(s.ok("", "consume", "t", "-g", "g", "--idle", "500ms"), "5\n")
}

func TestBenchPrintsKafkasColumns(t *testing.T) {
	s := shell{t, startBroker(t)}
	out := s.ok("", "bench", "produce", "--topic", "t", "--num-records", "500", "--record-size", "10", "--warmup-records", "100", "--command-property", "acks=1", "linger.ms=1")
	if !regexp.MustCompile(`(?m)^500 records sent, [\d.]+ records/sec .*99\.9th\.\n400 steady state records sent, .*99\.9th\.\n$`).MatchString(out) {
		t.Errorf("produce:\n%s", out)
	}
	out = s.ok("", "bench", "consume", "--topic", "t", "--num-records", "500")
	if !regexp.MustCompile(`(?m)^start\.time, .*\n\S+ \S+, \S+ \S+, 0\.00\d\d, [\d.]+, 500, ([\d.]+, ){4}[\d.]+\n$`).MatchString(out) {
		t.Errorf("consume:\n%s", out)
	}
	s.fails(exitUsage, []string{"bench", "produce", "--topic", "t", "--num-records", "5", "--record-size", "1", "--command-property", "foo=1"}, `"foo" has no counterpart`)
}

func TestNoBroker(t *testing.T) {
	s := shell{t, "127.0.0.1:1"}
	for _, args := range [][]string{{"topics", "list"}, {"produce", "t"}, {"consume", "t"}, {"groups", "list"}, {"bench", "consume", "--topic", "t", "--num-records", "1"}} {
		s.fails(exitFailure, args, "no broker answers at 127.0.0.1:1", "samsa serve", "--bootstrap")
	}
}

func TestWrongCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"tpics":                 `did you mean "topics"?`,
		"topics lst":            `did you mean "list"?`,
		"topics create":         "name the topic to create",
		"consume":               "name the topic to read",
		"produce a b":           `unexpected argument "b"`,
		"--nope":                "unknown flag: --nope",
		"serve --log-level x":   "--log-level is debug",
		"serve --set x":         "not NAME=VALUE",
		"consume t -g g --to 1": "--to does not go with --group",
	} {
		var stdout, stderr bytes.Buffer
		status := Main(t.Context(), strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
		if status != exitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "--help") {
			t.Errorf("samsa %s: status %d, %q", line, status, stderr.String())
		}
	}
}

// TestEveryCommandHelps: each command says what it is for, and completion scripts come for all shells.
func TestEveryCommandHelps(t *testing.T) {
	root := newRootCommand()
	for _, c := range root.Commands() {
		for _, sub := range append(c.Commands(), c) {
			if sub.Short == "" || strings.HasSuffix(sub.Short, ".") {
				t.Errorf("%s: short help %q", sub.CommandPath(), sub.Short)
			}
		}
	}
	for _, shellName := range []string{"bash", "zsh", "fish", "powershell"} {
		var stdout, stderr bytes.Buffer
		if status := Main(t.Context(), []string{"completion", shellName}, strings.NewReader(""), &stdout, &stderr); status != exitOK || stdout.Len() < 1000 {
			t.Errorf("completion %s: status %d, %d bytes", shellName, status, stdout.Len())
		}
	}
}

// lockedBuffer is a buffer that a command writes while the test reads; grown hears of it.
type lockedBuffer struct {
	grown chan struct{}
	mu    sync.Mutex
	b     bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grown <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestServe starts a broker as the command does, with a configuration file, uses it, stops it as Ctrl-C does,
// and is refused a second broker on the same directory meanwhile.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := lockedBuffer{grown: make(chan struct{}, 1)}
	args := []string{"serve", "--dir", dir, "--listen", "127.0.0.1:0", "--set", "offsets.topic.num.partitions=1"}
	done := make(chan int, 1)
	go func() { done <- Main(ctx, args, strings.NewReader(""), &bytes.Buffer{}, &stderr) }()
	serving := regexp.MustCompile(`msg=serving address=(\S+)`)
	deadline := time.After(20 * time.Second)
	for !serving.MatchString(stderr.String()) {
		select {
		case <-stderr.grown:
		case <-deadline:
			t.Fatalf("not serving:\n%s", stderr.String())
		}
	}
	s := shell{t, serving.FindStringSubmatch(stderr.String())[1]}
	s.ok("hello\n", "produce", "greetings")
	s.equal(s.ok("", "consume", "greetings", "-n", "1"), "hello\n")

	var refused bytes.Buffer
	if status := Main(t.Context(), args, strings.NewReader(""), &bytes.Buffer{}, &refused); status != exitFailure || !strings.Contains(refused.String(), dir) || !strings.Contains(refused.String(), "the broker did not start") {
		t.Errorf("a second broker: status %d\n%s", status, refused.String())
	}
	taken := append([]string{"serve", "--dir", t.TempDir(), "--listen"}, s.addr)
	refused.Reset()
	if status := Main(t.Context(), taken, strings.NewReader(""), &bytes.Buffer{}, &refused); status != exitFailure || !strings.Contains(refused.String(), "--listen HOST:PORT") {
		t.Errorf("a second broker at the address: status %d\n%s", status, refused.String())
	}
	cancel()
	if status := <-done; status != exitOK || !strings.Contains(stderr.String(), "msg=stopped") {
		t.Errorf("status %d\n%s", status, stderr.String())
	}
}

// TestServeConfiguration: later sources win over earlier ones.
func TestServeConfiguration(t *testing.T) {
	file := t.TempDir() + "/server.properties"
	writeFile(t, file, "log.retention.ms=1\nnum.partitions=2\nlog.dirs=/from/file\nlisteners=PLAINTEXT://h:1\n")
	o := serveOptions{configFile: file, set: []string{"num.partitions=3"}}
	c, err := o.brokerConfig([]string{"SAMSA_LOG_RETENTION_MS=2", "SAMSA_NUM_PARTITIONS=9", "SAMSA_BOOTSTRAP=x", "PATH=y"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"log.retention.ms": "2", "num.partitions": "3", "log.dirs": "/from/file", "listeners": "PLAINTEXT://h:1"}
	if fmt.Sprint(c.Properties) != fmt.Sprint(want) || len(c.Dirs) != 0 {
		t.Errorf("got %v, dirs %v", c.Properties, c.Dirs)
	}
	if c, err = (&serveOptions{}).brokerConfig(nil); err != nil || fmt.Sprint(c.Dirs) != "["+defaultDir+"]" {
		t.Errorf("without any setting: %v, %v", c.Dirs, err)
	}
	if _, err := (&serveOptions{configFile: file + ".missing"}).brokerConfig(nil); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: %v", err)
	}
}
