package metadata

import (
	"iter"
	"slices"
	"strings"

	"github.com/samsalog/samsa/record"
)

// Topics finds topics by name and by id. It is immutable; the zero Topics is empty.
type Topics struct {
	byName pmap[string, *Topic]
	byID   pmap[record.UUID, *Topic]
	// colliding has the names that contain '.' or '_' by what they are called in metrics; nearly always one.
	colliding pmap[string, []string]
}

// ByName returns the topic called name, nil when there is none.
func (t Topics) ByName(name string) *Topic {
	topic, _ := t.byName.get(name)
	return topic
}

// ByID returns the topic with the id, nil when there is none.
func (t Topics) ByID(id record.UUID) *Topic {
	topic, _ := t.byID.get(id)
	return topic
}

// All yields the topics in no particular order.
func (t Topics) All() iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		for _, topic := range t.byName.all() {
			if !yield(topic) {
				return
			}
		}
	}
}

// Len is the number of topics.
func (t Topics) Len() int { return t.byName.len() }

// Colliding returns the names of topics that differ from name only in '.' and '_': metrics would not tell them
// apart, so Kafka refuses to create the second. A topic called name itself is among them.
func (t Topics) Colliding(name string) []string {
	names, _ := t.colliding.get(metricName(name))
	return names
}

// metricName is what a name becomes in metric names (Topic.unifyCollisionChars).
func metricName(name string) string { return strings.ReplaceAll(name, ".", "_") }

func canCollide(name string) bool { return strings.ContainsAny(name, "._") }

// with returns t with topic in place of one of the same id, if there is any.
func (t Topics) with(topic *Topic, e *edit) Topics {
	if canCollide(topic.Name) {
		key := metricName(topic.Name)
		if names, _ := t.colliding.get(key); !slices.Contains(names, topic.Name) {
			t.colliding = t.colliding.with(key, append(slices.Clone(names), topic.Name), e)
		}
	}
	t.byName = t.byName.with(topic.Name, topic, e)
	t.byID = t.byID.with(topic.ID, topic, e)
	return t
}

func (t Topics) without(topic *Topic, e *edit) Topics {
	if canCollide(topic.Name) {
		key := metricName(topic.Name)
		names, _ := t.colliding.get(key)
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == topic.Name })
		if len(names) == 0 {
			t.colliding = t.colliding.without(key, e)
		} else {
			t.colliding = t.colliding.with(key, names, e)
		}
	}
	t.byName = t.byName.without(topic.Name, e)
	t.byID = t.byID.without(topic.ID, e)
	return t
}
