package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/config.md")

const docFile = "../../docs/config.md"

// docs/config.md says of each key whether it acts. Acting is not declared anywhere: a key acts when code outside
// this package asks for it, so the tables are made from the code.
func TestDocumentIsCurrent(t *testing.T) {
	old, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	u := scan(t, "../..")
	text := string(old)
	for name, table := range map[string]string{
		"broker": u.brokerTable(true), "broker-idle": u.brokerTable(false), "topic": u.resourceTable(TopicKeys()),
		"group": u.resourceTable(GroupKeys()), "client-metrics": u.resourceTable(ClientMetricsKeys()), "gone": goneTable(),
	} {
		begin, end := "<!-- "+name+": generated, see internal/config/docs_test.go -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no place for the table %s", docFile, name)
		}
		text = before + begin + "\n" + table + "\n" + end + after
	}
	if text == string(old) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./internal/config -run TestDocumentIsCurrent -update", docFile)
	}
	if err := os.WriteFile(docFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// usage is which keys the code asks for.
type usage struct {
	keys   map[string]bool // broker and group keys, by the literal in the call
	fields map[string]bool // fields that are read of some struct, among them storage.Config's
	calls  map[string]bool // methods that are called
}

// scan reads all Go files of the module but tests and this package.
func scan(t *testing.T, root string) *usage {
	t.Helper()
	u := &usage{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == filepath.Join("internal", "config") || rel == "bench" || rel == "interop") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil // the build complains of it
		}
		u.file(f, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// getters are the methods that take a key.
var getters = []string{"Int", "Int64", "Duration", "Bool", "Float", "String", "List", "Has", "IsSet", "Raw", "GroupInt", "GroupDuration", "GroupLong",
	"GroupString", "GroupBool", "GroupList"}

func (u *usage) file(f *ast.File, path string) {
	defines := path == filepath.Join("storage", "config.go")
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			u.calls[sel.Sel.Name] = true
			if slices.Contains(getters, sel.Sel.Name) && len(n.Args) > 0 {
				u.literal(n.Args[0])
			}
		case *ast.SelectorExpr:
			if !defines {
				u.fields[n.Sel.Name] = true
			}
		}
		return true
	})
}

func (u *usage) literal(arg ast.Expr) {
	if lit, ok := arg.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			u.keys[s] = true
		}
	}
}

// methodKeys are the keys that stand behind methods of Layers which combine several.
var methodKeys = map[string][]string{
	"Listeners": {"listeners", "advertised.listeners", "listener.security.protocol.map", "controller.listener.names",
		"inter.broker.listener.name", "security.inter.broker.protocol"},
	"LogDirs":                   {"log.dirs", "log.dir"},
	"ConnectionsPerIPOverrides": {"max.connections.per.ip.overrides"},
}

// configFields are the fields of storage.Config that a topic key fills.
var configFields = map[string]string{
	"segment.bytes": "SegmentBytes", "internal.segment.bytes": "SegmentBytes", "segment.ms": "SegmentMs", "segment.jitter.ms": "SegmentJitterMs",
	"retention.bytes": "RetentionBytes", "retention.ms": "RetentionMs", "index.interval.bytes": "IndexIntervalBytes", "segment.index.bytes": "SegmentIndexBytes",
	"flush.messages": "FlushMessages", "flush.ms": "FlushMs", "max.message.bytes": "MaxMessageBytes",
	"max.decompressed.message.bytes": "MaxDecompressedMessageBytes", "cleanup.policy": "CleanupDelete", "compression.type": "CompressionType",
	"compression.gzip.level": "GzipLevel", "compression.lz4.level": "LZ4Level", "compression.zstd.level": "ZstdLevel",
	"message.timestamp.type": "TimestampType", "message.timestamp.before.max.ms": "TimestampBeforeMaxMs", "message.timestamp.after.max.ms": "TimestampAfterMaxMs",
	"file.delete.delay.ms": "FileDeleteDelayMs", "delete.retention.ms": "DeleteRetentionMs", "min.compaction.lag.ms": "MinCompactionLagMs",
	"max.compaction.lag.ms": "MaxCompactionLagMs", "min.cleanable.dirty.ratio": "MinCleanableDirtyRatio", "min.insync.replicas": "MinInsyncReplicas",
	"preallocate": "Preallocate", "unclean.leader.election.enable": "UncleanLeaderElection",
}

// acts tells whether anything changes with the key of a set.
func (u *usage) acts(s *Set, name string) bool {
	switch s {
	case TopicKeys():
		field, ok := configFields[name]
		return ok && u.fields[field]
	case BrokerKeys():
		for method, keys := range methodKeys {
			if u.calls[method] && slices.Contains(keys, name) {
				return true
			}
		}
		for _, from := range topicSynonyms {
			if u.acts(TopicKeys(), from.topic) && slices.ContainsFunc(from.broker, func(k brokerKey) bool { return k.name == name }) {
				return true
			}
		}
		if name == "broker.id" {
			return u.keys["node.id"]
		}
		for d := range GroupKeys().All() {
			if slices.Contains(d.Synonyms, name) && u.keys[d.Name] {
				return true
			}
		}
	}
	return u.keys[name]
}

func (u *usage) brokerTable(acting bool) string {
	var b strings.Builder
	if acting {
		b.WriteString("| key | default | changed | values | |\n|---|---|---|---|---|\n")
	} else {
		b.WriteString("| key | default | |\n|---|---|---|\n")
	}
	for d := range BrokerKeys().All() {
		switch {
		case d.Internal || u.acts(BrokerKeys(), d.Name) != acting:
		case acting:
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Name, shownDefault(d), d.Mode, d.Valid, d.Doc)
		default:
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Name, shownDefault(d), d.Doc)
		}
	}
	return b.String()
}

func (u *usage) resourceTable(s *Set) string {
	var b strings.Builder
	b.WriteString("| key | acts | default | values | |\n|---|---|---|---|---|\n")
	for d := range s.All() {
		if d.Internal {
			continue
		}
		acts := ""
		if u.acts(s, d.Name) {
			acts = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Name, acts, shownDefault(d), d.Valid, d.Doc)
	}
	return b.String()
}

func goneTable() string {
	var b strings.Builder
	b.WriteString("| key | |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, gone[name])
	}
	b.WriteString("| `zookeeper.*` | metadata is kept without ZooKeeper |\n")
	return b.String()
}

func shownDefault(d *Definition) string {
	switch {
	case d.Default == nil:
		return "none"
	case *d.Default == "":
		return "empty"
	}
	return *d.Default
}

// Each key that the document's maps name exists, so that a slip does not hide a key.
func TestDocumentMaps(t *testing.T) {
	for key := range configFields {
		if TopicKeys().Lookup(key) == nil {
			t.Errorf("no topic key %s", key)
		}
	}
	for _, keys := range methodKeys {
		for _, key := range keys {
			if BrokerKeys().Lookup(key) == nil {
				t.Errorf("no broker key %s", key)
			}
		}
	}
}

// Every key that code asks for exists: to ask for another would stop the broker.
func TestKeysAskedForExist(t *testing.T) {
	u := scan(t, "../..")
	for key := range u.keys {
		if strings.Count(key, ".") > 1 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789.") == "" &&
			BrokerKeys().Lookup(key) == nil && GroupKeys().Lookup(key) == nil && TopicKeys().Lookup(key) == nil {
			t.Errorf("%s is asked for and no key", key)
		}
	}
	if len(u.keys) == 0 {
		t.Error("nothing is asked for: the scan is broken")
	}
}
