package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func change(op Op, text string) Change {
	name, value, has := strings.Cut(text, "=")
	c := Change{Name: name, Op: op}
	if has {
		c.Value = &value
	}
	return c
}

func TestApply(t *testing.T) {
	current := map[string]string{"retention.ms": "5", "cleanup.policy": "compact"}
	for _, c := range []struct {
		set     *Set
		current map[string]string
		change  Change
		want    string // the key's value afterwards, "-" for none, or the type of the error
	}{
		{TopicKeys(), current, change(OpSet, "retention.ms=7"), "7"},
		{TopicKeys(), current, change(OpSet, "no.such=7"), "7"},
		{TopicKeys(), current, change(OpDelete, "retention.ms"), "-"},
		{TopicKeys(), current, change(OpDelete, "no.such"), "-"},
		{TopicKeys(), current, change(OpDelete, "flush.ms=5"), "-"},
		{TopicKeys(), nil, change(OpAppend, "cleanup.policy=compact"), "delete,compact"},
		{TopicKeys(), nil, change(OpAppend, "cleanup.policy=delete"), "-"},
		{TopicKeys(), current, change(OpAppend, "cleanup.policy=delete,delete"), "compact,delete"},
		{TopicKeys(), current, change(OpAppend, "cleanup.policy="), "compact,"},
		{TopicKeys(), nil, change(OpAppend, "leader.replication.throttled.replicas=0:1,1:1"), "0:1,1:1"},
		{TopicKeys(), current, change(OpSubtract, "cleanup.policy=compact"), ""},
		{TopicKeys(), current, change(OpSubtract, "cleanup.policy=delete"), "compact"},
		{TopicKeys(), nil, change(OpSubtract, "cleanup.policy=compact"), "-"},
		{TopicKeys(), current, change(OpAppend, "retention.ms=5"), "*config.ListError"},
		{TopicKeys(), current, change(OpSubtract, "no.such=5"), "*config.ListError"},
		{TopicKeys(), current, change(9, "retention.ms=5"), "*config.OpError"},
		{BrokerKeys(), nil, change(OpAppend, "log.cleanup.policy=compact"), "delete,compact"},
		{BrokerKeys(), nil, change(OpAppend, "background.threads=5"), "*config.ListError"},
		{GroupKeys(), nil, change(OpAppend, "streams.rack.aware.assignment.tags=x"), "*config.ListError"},
		{ClientMetricsKeys(), nil, change(OpAppend, "match=client_id=x"), "*config.ListError"},
	} {
		before := maps.Clone(c.current)
		next, err := Apply(c.set, c.current, []Change{c.change})
		got, set := next[c.change.Name]
		if !set {
			got = "-"
		}
		if err != nil {
			got = fmt.Sprintf("%T", err)
		}
		if got != c.want {
			t.Errorf("%v on %v: %q, want %q", c.change, c.current, got, c.want)
		}
		if !maps.Equal(before, c.current) {
			t.Errorf("%v changed its input", c.change)
		}
	}
}

func TestCheckChanges(t *testing.T) {
	for _, c := range []struct {
		changes []Change
		ok      bool
	}{
		{nil, true},
		{[]Change{change(OpSet, "a=1"), change(OpDelete, "b")}, true},
		{[]Change{change(OpSet, "a=1"), change(OpDelete, "a")}, false},
		{[]Change{change(OpSet, "a")}, false},
		{[]Change{change(OpAppend, "a")}, false},
		{[]Change{change(9, "a")}, false},
	} {
		err := CheckChanges(c.changes)
		var re *RequestError
		if (err == nil) != c.ok || err != nil && !errors.As(err, &re) {
			t.Errorf("%v: %v", c.changes, err)
		}
	}
}

func TestDifferences(t *testing.T) {
	d := Differences(map[string]string{"same": "1", "other": "1", "gone": "1"}, map[string]string{"same": "1", "other": "2", "new": ""})
	if got := slices.Sorted(maps.Keys(d)); !slices.Equal(got, []string{"gone", "new", "other"}) || d["gone"] != nil || *d["new"] != "" || *d["other"] != "2" {
		t.Errorf("%v", d)
	}
}

func TestWhatAnotherVersionStoredDoesNotStandInTheWay(t *testing.T) {
	before := map[string]string{"message.format.version": "3.0", "retention.ms": "5"}
	after := map[string]string{"message.format.version": "3.0", "retention.ms": "6", "no.such": "1"}
	if got := Known(TopicKeys(), before, after); len(got) != 2 || got["retention.ms"] != "6" || got["no.such"] != "1" {
		t.Errorf("%v", got)
	}
}
