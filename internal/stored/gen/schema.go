package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The shape of schemas.json.
type (
	schemaJSON struct {
		Record   string                     `json:"record"`
		Package  string                     `json:"package"`
		APIKey   int16                      `json:"apiKey"`
		Defaults map[string]json.RawMessage `json:"defaultsOtherThanZero"`
		Order    []string                   `json:"order"`
		Versions []struct {
			Version  int16       `json:"version"`
			Flexible bool        `json:"flexible"`
			Fields   []fieldJSON `json:"fields"`
		} `json:"versions"`
	}
	fieldJSON struct {
		Name   string          `json:"name"`
		Tag    *int            `json:"tag"`
		Type   string          `json:"type"`
		Struct string          `json:"struct"`
		Of     json.RawMessage `json:"of"`
	}
)

// schema is one record with all its versions merged.
type schema struct {
	name, pkg    string
	apiKey       int16
	low, high    int16
	flexibleFrom int16 // first flexible version; high+1 when there is none
	root         *structure
	structs      []*structure // the nested ones, each once, in order of appearance
}

// structure is the record itself or a structure inside it.
type structure struct {
	goName string
	wire   []*field // in wire order; tagged ones last
	fields []*field // in declared order
}

// field is one field of a structure over all versions of the record.
type field struct {
	name, goName string
	from, to     int16 // the versions that have it
	tag          int   // -1: not tagged
	compactFrom  int16 // the first version whose length is a varint: a header's client id stays plain
	kind         string
	nullable     bool
	elem         string     // kind of an array's elements
	of           *structure // structure of a struct or of an array's elements
	defaultValue string     // Go literal of a numeric or bool default
	defaultNull  bool
}

// kindOf maps a schema type to its kind: the type without its compact, nullable and "?" marks.
func kindOf(t string) (kind string, nullable bool) {
	kind = strings.TrimPrefix(t, "compact-")
	if k, ok := strings.CutPrefix(kind, "nullable-"); ok {
		return k, true
	}
	if k, ok := strings.CutSuffix(kind, "?"); ok {
		return k, true
	}
	return kind, false
}

func load(path string) ([]*schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []schemaJSON
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []*schema
	for _, j := range list {
		s := &schema{name: j.Record, pkg: j.Package, apiKey: j.APIKey, low: j.Versions[0].Version}
		s.high = j.Versions[len(j.Versions)-1].Version
		s.flexibleFrom = s.high + 1
		s.root = &structure{goName: j.Record}
		for _, v := range j.Versions {
			if v.Flexible {
				s.flexibleFrom = min(s.flexibleFrom, v.Version)
			}
			if err := s.merge(s.root, v.Fields, v.Version, j.Defaults, ""); err != nil {
				return nil, fmt.Errorf("%s version %d: %w", j.Record, v.Version, err)
			}
		}
		for _, st := range append([]*structure{s.root}, s.structs...) {
			st.fields = st.wire
		}
		if err := s.root.reorder(j.Order); err != nil {
			return nil, fmt.Errorf("%s: %w", j.Record, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// merge adds the fields of one version to st. A field that is new comes behind the one it follows here.
func (s *schema) merge(st *structure, fields []fieldJSON, version int16, defaults map[string]json.RawMessage, prefix string) error {
	at := 0
	for _, j := range fields {
		i := slices.IndexFunc(st.wire, func(f *field) bool { return f.name == j.Name })
		if i < 0 {
			f, err := s.newField(j, version, defaults[prefix+j.Name])
			if err != nil {
				return err
			}
			st.wire = slices.Insert(st.wire, at, f)
			i = at
		}
		f := st.wire[i]
		f.to = max(f.to, version)
		if strings.HasPrefix(j.Type, "compact-") {
			f.compactFrom = min(f.compactFrom, version)
		}
		at = i + 1
		if f.of == nil {
			continue
		}
		var of []fieldJSON
		if err := json.Unmarshal(j.Of, &of); err != nil {
			return fmt.Errorf("%s: %w", j.Name, err)
		}
		if err := s.merge(f.of, of, version, defaults, prefix+j.Name+"."); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) newField(j fieldJSON, version int16, def json.RawMessage) (*field, error) {
	f := &field{name: j.Name, goName: goName(j.Name), from: version, to: version, tag: -1, compactFrom: s.high + 1}
	if j.Tag != nil {
		f.tag = *j.Tag
	}
	f.kind, f.nullable = kindOf(j.Type)
	if text := string(def); text == "null" {
		f.defaultNull = true
	} else {
		f.defaultValue = text
	}
	if j.Struct != "" {
		f.of = s.structure(s.name + j.Struct)
		f.elem = "struct"
	} else if len(j.Of) > 0 {
		var of string
		if err := json.Unmarshal(j.Of, &of); err != nil {
			return nil, fmt.Errorf("%s: %w", j.Name, err)
		}
		f.elem, _ = kindOf(of)
	}
	return f, nil
}

// structure finds or adds the nested structure goName; several fields may share one.
func (s *schema) structure(goName string) *structure {
	for _, st := range s.structs {
		if st.goName == goName {
			return st
		}
	}
	st := &structure{goName: goName}
	s.structs = append(s.structs, st)
	return st
}

func (st *structure) reorder(names []string) error {
	if names == nil {
		return nil
	}
	st.fields = nil
	for _, name := range names {
		i := slices.IndexFunc(st.wire, func(f *field) bool { return f.name == name })
		if i < 0 {
			return fmt.Errorf("order names %q, which is no field", name)
		}
		st.fields = append(st.fields, st.wire[i])
	}
	if len(st.fields) != len(st.wire) {
		return fmt.Errorf("order names %d of %d fields", len(st.fields), len(st.wire))
	}
	return nil
}

// initialisms are the words that Go names write in capitals.
var initialisms = map[string]string{"Id": "ID", "Ids": "IDs", "Isr": "ISR", "Elr": "ELR"}

// goName turns a lower camel name into an exported one.
func goName(name string) string {
	out, word := "", strings.ToUpper(name[:1])
	for _, c := range name[1:] + "X" {
		if c < 'A' || c > 'Z' {
			word += string(c)
			continue
		}
		if w, ok := initialisms[word]; ok {
			word = w
		}
		out, word = out+word, string(c)
	}
	return out
}
