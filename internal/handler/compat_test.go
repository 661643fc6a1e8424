package handler

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var update = flag.Bool("update", false, "write docs/compat.md")

// kafkaVersions is what a single Kafka 4.4.0 node (broker and controller) lists in ApiVersions to a client.
var kafkaVersions = []struct{ key, min, max int16 }{
	{0, 0, 13}, {1, 4, 18}, {2, 1, 11}, {3, 0, 13}, {8, 2, 10}, {9, 1, 10}, {10, 0, 6}, {11, 0, 9}, {12, 0, 4}, {13, 0, 5}, {14, 0, 5},
	{15, 0, 6}, {16, 0, 5}, {17, 0, 1}, {18, 0, 5}, {19, 2, 7}, {20, 1, 6}, {21, 0, 2}, {22, 0, 5}, {23, 2, 4}, {24, 0, 5}, {25, 0, 4},
	{26, 0, 5}, {27, 1, 2}, {28, 0, 6}, {29, 1, 3}, {30, 1, 3}, {31, 1, 3}, {32, 1, 4}, {33, 0, 2}, {34, 1, 2}, {35, 1, 5}, {36, 0, 2},
	{37, 0, 3}, {38, 1, 3}, {39, 1, 2}, {40, 1, 2}, {41, 1, 3}, {42, 0, 3}, {43, 0, 2}, {44, 0, 1}, {45, 0, 1}, {46, 0, 0}, {47, 0, 0},
	{48, 0, 1}, {49, 0, 1}, {50, 0, 0}, {51, 0, 0}, {55, 0, 2}, {57, 0, 2}, {60, 0, 2}, {61, 0, 0}, {64, 0, 0}, {65, 0, 0}, {66, 0, 2},
	{68, 0, 1}, {69, 0, 1}, {74, 0, 1}, {75, 0, 0}, {76, 1, 1}, {77, 1, 1}, {78, 1, 2}, {79, 1, 2}, {80, 0, 1}, {81, 0, 0}, {83, 0, 0},
	{84, 0, 0}, {85, 0, 1}, {86, 0, 0}, {87, 0, 1}, {88, 0, 1}, {89, 0, 1}, {90, 0, 1}, {91, 0, 0}, {92, 0, 0}, {93, 0, 0}, {94, 0, 0},
}

const compatFile = "../../docs/compat.md"

// docs/compat.md's table is what the routes say.
func TestCompatDocumentIsCurrent(t *testing.T) {
	old, err := os.ReadFile(compatFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- apis: generated, see internal/handler/compat_test.go -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", compatFile)
	}
	text := before + begin + "\n" + apiTable(new(Handler).table()) + "\n" + end + after
	if text == string(old) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./internal/handler -run TestCompatDocumentIsCurrent -update", compatFile)
	}
	if err := os.WriteFile(compatFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func apiTable(routes map[int16]route) string {
	var b strings.Builder
	b.WriteString("| key | API | listed | served | Kafka 4.4 |\n|---|---|---|---|---|\n")
	for _, k := range kafkaVersions {
		listed, served := "", ""
		if r, ok := routes[k.key]; ok {
			listed, served = versions(r.listed, r.max), versions(r.min, r.max)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", k.key, kmsg.NameForKey(k.key), listed, served, versions(k.min, k.max))
	}
	return b.String()
}

func versions(min, max int16) string {
	if min == max {
		return fmt.Sprint(min)
	}
	return fmt.Sprintf("%d–%d", min, max)
}

// What is listed is what Kafka lists, or less of the newest; nothing is listed that Kafka does not have.
func TestListedVersionsAreKafkas(t *testing.T) {
	kafka := map[int16][2]int16{}
	for _, k := range kafkaVersions {
		kafka[k.key] = [2]int16{k.min, k.max}
	}
	for key, r := range new(Handler).table() {
		k, ok := kafka[key]
		switch {
		case !ok:
			t.Errorf("%s (%d) is served; Kafka does not list it", kmsg.NameForKey(key), key)
		case r.listed != k[0] || r.max > k[1] || r.max < r.listed:
			t.Errorf("%s (%d): lists %d to %d, Kafka %d to %d", kmsg.NameForKey(key), key, r.listed, r.max, k[0], k[1])
		}
		if r.serve == nil {
			t.Errorf("%s (%d): nobody serves it", kmsg.NameForKey(key), key)
		}
	}
}
