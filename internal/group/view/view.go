package view

import (
	"iter"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// Topics is what is needed of the metadata; metadata.Topics is one.
type Topics interface {
	ByName(name string) *metadata.Topic
	ByID(id record.UUID) *metadata.Topic
	All() iter.Seq[*metadata.Topic]
}

// View is the metadata that a decision rests on.
type View struct {
	// Topics may be nil: none exist.
	Topics Topics
	// Rack is the rack of a broker; nil when it has none.
	Rack func(broker int32) *string
	// Version is the offset of the metadata.
	Version int64
}

// Topic is the topic of a name; nil when it does not exist.
func (v View) Topic(name string) *metadata.Topic {
	if v.Topics == nil {
		return nil
	}
	return v.Topics.ByName(name)
}

// Name is the name of a topic; false when it does not exist.
func (v View) Name(id record.UUID) (string, bool) {
	if v.Topics == nil {
		return "", false
	}
	if t := v.Topics.ByID(id); t != nil {
		return t.Name, true
	}
	return "", false
}
