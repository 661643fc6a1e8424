package config

import (
	"fmt"
	"slices"
	"strings"
)

// Op is what is to be done with a key, numbered as IncrementalAlterConfigs numbers it.
type Op int8

// The operations.
const (
	OpSet Op = iota
	OpDelete
	OpAppend
	OpSubtract
)

// Change is one operation on one key.
type Change struct {
	Name string
	Op   Op
	// Value is ignored by OpDelete and must not be nil otherwise.
	Value *string
}

// RequestError is a request that makes no sense whatever the values are.
type RequestError struct{ Text string }

// Error returns the text.
func (e *RequestError) Error() string { return e.Text }

// OpError is an operation that does not exist.
type OpError struct{ Op Op }

// Error names the operation.
func (e *OpError) Error() string { return fmt.Sprintf("there is no operation %d on configs", e.Op) }

// ListError is OpAppend or OpSubtract on what is not a list.
type ListError struct{ Name string }

// Error names the key.
func (e *ListError) Error() string {
	return e.Name + " is not a list: elements can be added to and taken from lists only"
}

// CheckChanges refuses a key that stands twice and an operation without its value, as a *RequestError.
func CheckChanges(changes []Change) error {
	var missing []string
	seen := make(map[string]bool, len(changes))
	for _, c := range changes {
		if seen[c.Name] {
			return &RequestError{"config " + c.Name + " stands twice"}
		}
		seen[c.Name] = true
		if c.Value == nil && c.Op != OpDelete {
			missing = append(missing, c.Name)
		}
	}
	if missing != nil {
		return &RequestError{"there is no value for: " + strings.Join(missing, ", ")}
	}
	return nil
}

// Apply returns what current, the values set on a resource whose keys are in set, becomes by the changes. Values are
// not checked here. Elements are added to and taken from the list that is set, or else the key's default
// (ConfigurationControlManager.incrementalAlterConfigResource); elements that are there already are not
// added again. The changes must have passed CheckChanges.
func Apply(set *Set, current map[string]string, changes []Change) (map[string]string, error) {
	next := Merge(current)
	for _, c := range changes {
		switch c.Op {
		case OpSet:
			next[c.Name] = *c.Value
		case OpDelete:
			delete(next, c.Name)
		case OpAppend, OpSubtract:
			d := set.Lookup(c.Name)
			if !set.listsGrow(d) {
				return nil, &ListError{Name: c.Name}
			}
			before, isSet := next[c.Name]
			if !isSet && d.Default != nil {
				before = *d.Default
			}
			if after := changeList(before, *c.Value, c.Op == OpAppend); after != before {
				next[c.Name] = after
			}
		default:
			return nil, &OpError{c.Op}
		}
	}
	return next, nil
}

// listsGrow tells whether elements can be added to d. Kafka allows it for topics and brokers only.
func (s *Set) listsGrow(d *Definition) bool {
	return d != nil && d.Type == List && (s == TopicKeys() || s == BrokerKeys())
}

// changeList adds the elements of change to list, or takes them away.
func changeList(list, change string, add bool) string {
	elements := slices.DeleteFunc(strings.Split(list, ","), func(e string) bool { return e == "" })
	for _, e := range strings.Split(change, ",") {
		at := slices.Index(elements, e)
		switch {
		case add && at < 0:
			elements = append(elements, e)
		case !add && at >= 0:
			elements = slices.Delete(elements, at, at+1)
		}
	}
	return strings.Join(elements, ",")
}

// Differences returns what must be written to turn before into after: new values, and nil for what goes.
func Differences(before, after map[string]string) map[string]*string {
	out := map[string]*string{}
	for name, value := range after {
		if old, ok := before[name]; !ok || old != value {
			out[name] = &value
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out[name] = nil
		}
	}
	return out
}

// Known returns after without the names that set does not have and before holds with the same value: what another
// version has stored must not stand in the way of a change to something else.
func Known(set *Set, before, after map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range after {
		if old, was := before[name]; set.Lookup(name) != nil || !was || old != value {
			out[name] = value
		}
	}
	return out
}
