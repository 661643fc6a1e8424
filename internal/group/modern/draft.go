package modern

import (
	"errors"
	"fmt"

	"github.com/samsalog/samsa/internal/coord"
	"github.com/samsalog/samsa/internal/stored"
)

// valueVersion is the only version of the values of all records of these groups.
const valueVersion = 0

// errValueType means that a value is of another type than its key.
var errValueType = errors.New("a value of another type than its key")

// Group is what a Draft can be made of: *consumer.Group, for instance.
type Group[G any] interface {
	// Apply takes one record of the group into its state; a nil value is a tombstone.
	Apply(key, value []byte) error
	// Clone is a copy; changing it leaves the group as it is.
	Clone() G
}

// Draft is a group as somebody wants it to be.
type Draft[G Group[G]] struct {
	// Group is the group as it will be: the one that the Draft was made of until something is written.
	Group G
	// Records bring the group there.
	Records []coord.Record
}

// Write adds a record, and applies it to the copy (MODERN-1). A nil value makes a tombstone.
func (d *Draft[G]) Write(key, value stored.Message) {
	if d.Records == nil {
		d.Group = d.Group.Clone()
	}
	r := coord.Record{Key: stored.AppendKey(nil, key)}
	if value != nil {
		r.Value = stored.AppendValue(nil, value, valueVersion)
	}
	d.Records = append(d.Records, r)
	if err := d.Group.Apply(r.Key, r.Value); err != nil {
		panic(fmt.Sprintf("modern: BUG: a record of type %d that was just made cannot be read: %v", key.APIKey(), err))
	}
}

// Decode reads the value of a record whose key is of a type.
func Decode[T stored.Message](value []byte, recordType int16) (T, error) {
	var none T
	v, _, err := stored.DecodeValue(value, recordType, stored.NewGroupValue)
	if err != nil {
		return none, err
	}
	if t, ok := v.(T); ok {
		return t, nil
	}
	return none, errValueType
}
