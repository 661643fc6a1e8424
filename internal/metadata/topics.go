package metadata

import (
	"iter"

	"github.com/samsalog/samsa/record"
)

// Topics finds topics by name and by id. It is immutable; the zero Topics is empty.
type Topics struct {
	byName pmap[string, *Topic]
	byID   pmap[record.UUID, *Topic]
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

// with returns t with topic in place of one of the same id, if there is any.
func (t Topics) with(topic *Topic, e *edit) Topics {
	t.byName = t.byName.with(topic.Name, topic, e)
	t.byID = t.byID.with(topic.ID, topic, e)
	return t
}

func (t Topics) without(topic *Topic, e *edit) Topics {
	t.byName = t.byName.without(topic.Name, e)
	t.byID = t.byID.without(topic.ID, e)
	return t
}
