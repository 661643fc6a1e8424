package deadletter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/samsalog/samsa/internal/longtest"
	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// textOf is a letter in one line, without what all have in common.
func textOf(r record.Record) string {
	s := fmt.Sprintf("%q %q", r.Key, r.Value)
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %s=%s", strings.TrimPrefix(h.Key, "__dlq.errors."), h.Value)
	}
	return s
}

func TestLettersTellWhereRecordsLie(t *testing.T) {
	n := newNode(t, 1<<20)
	defer n.close()
	n.produce(record.None, "a", "b", "c")
	n.produce(record.Zstd, "d", "e")
	n.deliver(letter(4, 4, 5, window.Exhausted), letter(0, 1, 1, window.Rejected))
	n.queue.Copy = false
	n.deliver(letter(3, 3, 2, window.Rejected))
	got, batches := n.arrived()
	var texts []string
	for _, r := range got {
		texts = append(texts, textOf(r))
		if r.Timestamp != n.stamp.UnixMilli() {
			t.Errorf("stamped %d", r.Timestamp)
		}
	}
	const rejected, exhausted = "Offset rejected by client.", "Offset delivery count exceeded the threshold."
	want := []string{
		`"key of a" "a" topic=t partition=0 offset=0 group=g delivery.count=1 message=` + rejected,
		`"key of b" "b" topic=t partition=0 offset=1 group=g delivery.count=1 message=` + rejected,
		`"key of e" "e" topic=t partition=0 offset=4 group=g delivery.count=5 message=` + exhausted,
		`"" "" topic=t partition=0 offset=3 group=g delivery.count=2 message=` + rejected,
	}
	if !slices.Equal(texts, want) || batches != 2 {
		t.Errorf("in %d batches\n%s", batches, strings.Join(texts, "\n"))
	}
	if got[3].Key != nil || got[3].Value != nil {
		t.Error("a letter without a copy has a key or a value")
	}
	if m := n.w.Metrics(); m != (Metrics{Written: 4, Requests: 2}) {
		t.Errorf("counted %+v", m)
	}
}

// What is gone from the source has a letter without a copy.
func TestLettersOfRecordsThatAreGone(t *testing.T) {
	n := newNode(t, 1<<20)
	defer n.close()
	n.produce(record.None, "a", "b")
	n.produce(record.None, "c")
	if _, err := n.partition("t", 0).DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	n.deliver(letter(0, 4, 1, window.Rejected)) // two are gone, two never were
	got, _ := n.arrived()
	var values []string
	for _, r := range got {
		values = append(values, string(r.Value))
	}
	if !slices.Equal(values, []string{"", "", "c", "", ""}) {
		t.Errorf("values %q", values)
	}
}

// A queue that cannot be used loses letters at once, and says so in the count.
func TestQueuesThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		queue Queue
		topic Topic
	}{
		"none":        {Queue{}, Topic{2, true}},
		"inner":       {Queue{Topic: "__q"}, Topic{2, true}},
		"not enabled": {Queue{Topic: "q"}, Topic{2, false}},
		"prefix":      {Queue{Topic: "q", Prefix: "dlq."}, Topic{2, true}},
		"missing":     {Queue{Topic: "other"}, Topic{2, true}},
		"not created": {Queue{Topic: "other", Create: true}, Topic{2, true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, 1<<20)
			defer n.close()
			n.produce(record.None, "a", "b", "c")
			n.queue, n.topic = c.queue, c.topic
			n.deliver(letter(0, 0, 1, window.Rejected), letter(1, 2, 2, window.Exhausted))
			if m := n.w.Metrics(); m != (Metrics{Lost: 3}) || n.made > 0 != c.queue.Create {
				t.Errorf("counted %+v, %d created", m, n.made)
			}
		})
	}
}

// Of a batch that is refused only those letters are lost which are the reason (DLQ-2).
func TestRefusedLettersSpoilNoOthers(t *testing.T) {
	n := newNode(t, 1<<20)
	defer n.close()
	n.produce(record.None, "a", "b")
	c := storage.DefaultConfig()
	c.CleanupCompact = true // which refuses letters without a key, as those of records that never were
	n.partition("q", 0).Log().SetConfig(c)
	n.deliver(letter(0, 3, 1, window.Rejected), letter(1, 1, 2, window.Exhausted))
	got, batches := n.arrived()
	if len(got) != 3 || batches != 3 || string(got[2].Value) != "b" {
		t.Errorf("%d letters in %d batches came", len(got), batches)
	}
	if m := n.w.Metrics(); m != (Metrics{Written: 3, Lost: 2, Requests: 6, Failed: 3}) {
		t.Errorf("counted %+v", m)
	}
}

// What passes is tried again, after pauses that grow, and not for ever.
func TestTriesAgain(t *testing.T) {
	for missing, want := range map[int]struct {
		metrics Metrics
		pauses  time.Duration
	}{3: {Metrics{Written: 1, Requests: 1}, 7 * time.Second}, 4: {Metrics{Written: 1, Requests: 1}, 15 * time.Second}, 5: {Metrics{Lost: 1}, 15 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t, 1<<20)
			defer n.close()
			n.produce(record.None, "a")
			n.missing = missing
			began := time.Now()
			n.deliver(letter(0, 0, 1, window.Rejected))
			took := time.Since(began)
			if m := n.w.Metrics(); m != want.metrics || took < want.pauses*8/10 || took > want.pauses*12/10 {
				t.Errorf("missing %d times: %+v after %v", missing, m, took)
			}
		})
	}
}

// Who breaks a delivery off loses nothing: it is delivered again by whoever comes next.
func TestBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1<<20)
		defer n.close()
		n.produce(record.None, "a")
		n.missing = 100
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := n.w.Deliver(ctx, "g", n.partition("t", 0), []window.Letter{letter(0, 0, 1, window.Rejected)})
		if !errors.Is(err, context.DeadlineExceeded) || n.w.Metrics() != (Metrics{}) {
			t.Errorf("%v, %+v", err, n.w.Metrics())
		}
	})
}

// Deliveries that wait to try again do not keep others from writing.
func TestOthersAreNotKeptWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, 1<<20)
		defer n.close()
		n.produce(record.None, "a")
		n.missing = 2 * writers
		done := make(chan struct{})
		for range 2 * writers {
			go func() {
				n.deliver(letter(0, 0, 1, window.Rejected))
				done <- struct{}{}
			}()
			synctest.Wait() // it has tried once
		}
		began := time.Now()
		n.deliver(letter(0, 0, 2, window.Exhausted))
		if took := time.Since(began); took > 0 {
			t.Errorf("waited for %v", took)
		}
		for range 2 * writers {
			<-done
		}
	})
}

// TestLettersAgainstModel delivers random letters about random batches into queues of random sizes: each comes once, with the
// copy if that fits, in batches that the queue takes.
func TestLettersAgainstModel(t *testing.T) {
	longtest.Check(t, 30, 3000, func(t *rapid.T) {
		limit := rapid.IntRange(400, 3000).Draw(t, "limit")
		n := newNode(t, 1<<20)
		defer n.close()
		n.partition("q", 0).Log().SetConfig(func() storage.Config { c := storage.DefaultConfig(); c.MaxMessageBytes = limit; return c }())
		var values []string
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			var batch []string
			for range rapid.IntRange(1, 6).Draw(t, "records") {
				batch = append(batch, strings.Repeat(string(rune('a'+len(values)%26)), rapid.IntRange(1, 900).Draw(t, "length")))
				values = append(values, batch[len(batch)-1])
			}
			n.produce(rapid.SampledFrom([]record.Codec{record.None, record.Gzip, record.Zstd}).Draw(t, "codec"), batch...)
		}
		var letters []window.Letter
		for at := record.Offset(0); int(at) < len(values); {
			last := min(at+record.Offset(rapid.IntRange(0, 4).Draw(t, "span")), record.Offset(len(values)-1))
			if rapid.Bool().Draw(t, "given up") {
				letters = append(letters, letter(at, last, 3, window.Rejected))
			}
			at = last + 1
		}
		want := map[string]bool{}
		for _, l := range letters {
			for o := l.First; o <= l.Last; o++ {
				want[fmt.Sprint(o)] = true
			}
		}
		n.deliver(rapid.Permutation(letters).Draw(t, "order")...)
		got, _ := n.arrived()
		for _, r := range got {
			var offset int
			text := string(r.Headers[2].Value)
			if _, err := fmt.Sscan(text, &offset); err != nil || !want[text] {
				t.Fatalf("letter about %s", text)
			}
			delete(want, text)
			if r.Value != nil && string(r.Value) != values[offset] {
				t.Fatalf("offset %d with %q", offset, r.Value)
			}
			// A copy is left out where it does not fit, or cannot be read since one before it in its batch does not.
			if r.Value == nil && len(values[offset])+300 < limit && limit > 1300 {
				t.Fatalf("offset %d has no copy", offset)
			}
		}
		if len(want) > 0 || n.w.Metrics().Lost > 0 {
			t.Fatalf("%d letters are missing, %+v", len(want), n.w.Metrics())
		}
	})
}
