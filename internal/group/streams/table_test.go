package streams

import (
	"iter"
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/record"
)

// table is the metadata of a test.
type table []*metadata.Topic

func tableOf(topics ...*metadata.Topic) table { return topics }

func (t table) find(f func(*metadata.Topic) bool) *metadata.Topic {
	if i := slices.IndexFunc(t, f); i >= 0 {
		return t[i]
	}
	return nil
}

func (t table) ByName(name string) *metadata.Topic {
	return t.find(func(x *metadata.Topic) bool { return x.Name == name })
}

func (t table) ByID(id record.UUID) *metadata.Topic {
	return t.find(func(x *metadata.Topic) bool { return x.ID == id })
}

func (t table) All() iter.Seq[*metadata.Topic] { return slices.Values(t) }
