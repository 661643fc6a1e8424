package txn_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// matcher compares responses with recorded ones.
type matcher struct {
	t    *testing.T
	vars map[string]any
	// actual and symbols tie the recording's producer ids to those of this run, one to one.
	actual  map[string]int64
	symbols map[int64]string
}

// match tells where the response differs; "" if it does not.
func (m *matcher) match(resp kmsg.Response, want any) string {
	return m.compare(reflect.ValueOf(resp).Elem(), want, "")
}

func (m *matcher) compare(got reflect.Value, want any, path string) string {
	differs := func() string {
		text, err := json.Marshal(want)
		if err != nil {
			m.t.Fatal(err)
		}
		return fmt.Sprintf("%s: got %+v, want %s", path, got.Interface(), text)
	}
	field := path[strings.LastIndex(path, ".")+1:]
	if field == "RecordBatches" {
		return m.compareBatches(got.Bytes(), want, path)
	}
	switch got.Kind() {
	case reflect.Pointer:
		if got.IsNil() != (want == nil) {
			return differs()
		}
		if got.IsNil() {
			return ""
		}
		return m.compare(got.Elem(), want, path)
	case reflect.Struct:
		return m.compareFields(got, want, path)
	case reflect.Slice:
		return m.compareSlices(got, want, path)
	case reflect.Array:
		if id := got.Interface().([16]byte); m.topicID(id) != want {
			return differs()
		}
	case reflect.String:
		if s := got.String(); s != want && !(want == "(text)" && s != "") {
			return differs()
		}
	case reflect.Bool:
		if got.Bool() != want {
			return differs()
		}
	default:
		if !m.number(got.Int(), field, want) {
			return differs()
		}
	}
	return ""
}

func (m *matcher) compareFields(got reflect.Value, want any, path string) string {
	fields, ok := want.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: not expected", path)
	}
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		if name == "Version" || name == "ThrottleMillis" || name == "UnknownTags" {
			continue
		}
		if why := m.compare(got.Field(i), fields[name], path+"."+name); why != "" {
			return why
		}
	}
	return ""
}

// compareSlices matches in any order: the recording is sorted.
func (m *matcher) compareSlices(got reflect.Value, want any, path string) string {
	list, _ := want.([]any)
	if got.IsNil() != (want == nil) || got.Len() != len(list) {
		return fmt.Sprintf("%s: %d elements, want %d (nil: %v, want %v)", path, got.Len(), len(list), got.IsNil(), want == nil)
	}
	used := make([]bool, got.Len())
	for i, w := range list {
		why, found := "", false
		for j := range got.Len() {
			actual, symbols := maps.Clone(m.actual), maps.Clone(m.symbols)
			if used[j] {
				continue
			}
			if why = m.compare(got.Index(j), w, fmt.Sprintf("%s[%d]", path, i)); why == "" {
				used[j], found = true, true
				break
			}
			m.actual, m.symbols = actual, symbols
		}
		if !found {
			return why
		}
	}
	return ""
}

var producerSymbol = regexp.MustCompile(`^P\d+$`)

func (m *matcher) number(n int64, field string, want any) bool {
	switch w := want.(type) {
	case float64:
		return n == int64(w)
	case string:
		switch {
		case w == "NOW":
			return time.Since(time.UnixMilli(n)).Abs() < time.Hour
		case producerSymbol.MatchString(w):
			if m.actual[w] == 0 && m.symbols[n] == "" {
				m.actual[w], m.symbols[n] = n+1, w // ids begin at 0
			}
			return m.actual[w] == n+1 && m.symbols[n] == w
		case field == "ErrorCode":
			return codeName(int16(n)) == w
		}
	}
	return false
}

func codeName(c int16) string {
	switch err := kerr.TypedErrorForCode(c); {
	case c == 0:
		return "0"
	case err != nil:
		return fmt.Sprintf("%d %s", c, err.Message)
	}
	return fmt.Sprintf("%d INVALID_REGULAR_EXPRESSION", c)
}

func (m *matcher) topicID(id [16]byte) string {
	for name, x := range m.vars {
		if x == any(id) && !strings.HasSuffix(name, "-nope") {
			return "T:" + strings.TrimPrefix(name, "id:")
		}
	}
	return hex.EncodeToString(id[:])
}

// compareBatches compares what says which transaction a batch belongs to, and control records byte for byte.
func (m *matcher) compareBatches(bytes []byte, want any, path string) string {
	list, _ := want.([]any)
	s := record.NewScanner(bytes)
	n := 0
	for ; s.Next(); n++ {
		if n == len(list) {
			return path + ": more batches than expected"
		}
		w, h := list[n].(map[string]any), s.Batch().Header()
		for field, got := range map[string]int64{
			"base": int64(h.BaseOffset), "count": int64(h.Count), "epoch": int64(h.ProducerEpoch), "pid": int64(h.ProducerID),
			"sequence": int64(h.BaseSequence), "max": h.MaxTimestamp, "leaderEpoch": int64(h.LeaderEpoch), "bytes": int64(h.SizeInBytes),
		} {
			if !m.number(got, field, w[field]) {
				return fmt.Sprintf("%s[%d].%s: got %d, want %v", path, n, field, got, w[field])
			}
		}
		if got := fmt.Sprintf("0x%02x", int16(h.Attributes)); got != w["attributes"] {
			return fmt.Sprintf("%s[%d].attributes: got %s, want %v", path, n, got, w["attributes"])
		}
		if h.IsControl() {
			records := s.Batch().Records(1 << 20)
			records.Next()
			r := records.Record()
			if got, want := fmt.Sprintf("+0 +0ms 0x%x=0x%x", r.Key, r.Value), w["records"].([]any)[0]; got != want {
				return fmt.Sprintf("%s[%d]: got %s, want %v", path, n, got, want)
			}
			records.Close()
		}
	}
	if n != len(list) {
		return fmt.Sprintf("%s: %d batches, want %d", path, n, len(list))
	}
	return ""
}
