package main

import (
	"fmt"
	"strconv"
	"strings"
)

// record writes everything about one record.
func (e *emitter) record(s *schema) {
	e.typ(s, s.root, true)
	e.p("func (m *%s) APIKey() int16 { return %d }\n", s.name, s.apiKey)
	e.p("func (m *%s) HighestVersion() int16 { return %d }\n", s.name, s.high)
	e.p("func (m *%s) RecordName() string { return %q }\n", s.name, s.name)
	e.p("func (m *%s) Decode(b []byte, version int16) ([]byte, error) {", s.name)
	e.p("r := reader{b: b}")
	if s.low == s.high {
		e.p("if version != %d {", s.low)
	} else {
		e.p("if version < %d || version > %d {", s.low, s.high)
	}
	e.p("r.fail(ErrVersion, \"known are %d to %d\")\nreturn r.finish(%q, version)\n}", s.low, s.high, s.name)
	e.p("m.read(&r, version)\nreturn r.finish(%q, version)\n}\n", s.name)
	e.methods(s, s.root)
	for _, st := range s.structs {
		e.typ(s, st, false)
		e.methods(s, st)
	}
}

// typ writes the type of st and its constructor.
func (e *emitter) typ(s *schema, st *structure, root bool) {
	switch {
	case !root:
		e.p("// %s is a structure inside %s.", st.goName, s.name)
	case s.apiKey < 0:
		e.p("// %s, versions %d to %d.", st.goName, s.low, s.high)
	default:
		e.p("// %s is record %d of its family, versions %d to %d.", st.goName, s.apiKey, s.low, s.high)
	}
	e.p("type %s struct {", st.goName)
	for _, f := range st.fields {
		e.p("%s %s%s", f.goName, f.goType(), f.comment(s))
	}
	if s.flexibleFrom <= s.high {
		e.p("unknown []rawTag")
	}
	e.p("}\n\n// New%s returns one with the schema's defaults.", st.goName)
	e.p("func New%s() %s {\nreturn %s{", st.goName, st.goName, st.goName)
	for _, f := range st.fields {
		if v := f.initial(); v != "" {
			e.p("%s: %s,", f.goName, v)
		}
	}
	e.p("}\n}\n")
}

func (f *field) goType() string {
	switch f.kind {
	case "struct":
		if f.nullable {
			return "*" + f.of.goName
		}
		return f.of.goName
	case "array":
		if f.of != nil {
			return "[]" + f.of.goName
		}
		return "[]" + scalarType(f.elem)
	case "string":
		if f.nullable {
			return "*string"
		}
	}
	return scalarType(f.kind)
}

func scalarType(kind string) string {
	switch kind {
	case "boolean":
		return "bool"
	case "bytes":
		return "[]byte"
	case "uuid":
		return "record.UUID"
	}
	return kind
}

// comment says what the Go type does not: versions, tag, null, default.
func (f *field) comment(s *schema) string {
	var notes []string
	switch {
	case f.from > s.low && f.to < s.high && f.from == f.to:
		notes = append(notes, fmt.Sprintf("version %d only", f.from))
	case f.from > s.low:
		notes = append(notes, fmt.Sprintf("version %d+", f.from))
	case f.to < s.high:
		notes = append(notes, fmt.Sprintf("versions to %d", f.to))
	}
	if f.tag >= 0 {
		notes = append(notes, fmt.Sprintf("tag %d", f.tag))
	}
	if f.nullable {
		notes = append(notes, "nil is null")
	}
	if f.defaultValue != "" {
		notes = append(notes, "default "+f.defaultValue)
	}
	if len(notes) == 0 {
		return ""
	}
	return " // " + strings.Join(notes, "; ")
}

// initial is the Go expression of a default that is not the Go zero value.
func (f *field) initial() string {
	switch {
	case f.defaultNull:
		return ""
	case f.kind == "struct" && f.nullable:
		return "new(New" + f.of.goName + "())"
	case f.kind == "struct":
		return "New" + f.of.goName + "()"
	case f.kind == "array" && f.nullable, f.kind == "bytes" && f.nullable:
		return f.goType() + "{}"
	case f.kind == "string" && f.nullable:
		return "new(string)"
	}
	return f.defaultValue
}

// registry writes the functions that find a record by its number or name.
func (e *emitter) registry(records []*schema) {
	e.p("// New returns the record of a schema's name with its defaults, nil when there is none.")
	e.p("func New(name string) Message {\nswitch name {")
	for _, s := range records {
		e.p("case %q:\nreturn new(New%s())", s.name, s.name)
	}
	e.p("}\nreturn nil\n}\n")
	for _, g := range []struct{ fn, doc, pkg, suffix string }{
		{"NewMetadataRecord", "metadata record", "common.metadata", "Record"},
		{"NewGroupKey", "key of __consumer_offsets", "coordinator.group.generated", "Key"},
		{"NewGroupValue", "value of __consumer_offsets", "coordinator.group.generated", "Value"},
		{"NewTxnKey", "key of __transaction_state", "coordinator.transaction.generated", "Key"},
		{"NewTxnValue", "value of __transaction_state", "coordinator.transaction.generated", "Value"},
		{"NewShareKey", "key of __share_group_state", "coordinator.share.generated", "Key"},
		{"NewShareValue", "value of __share_group_state", "coordinator.share.generated", "Value"},
	} {
		e.p("// %s returns the %s with the number t, nil when it is not known.", g.fn, g.doc)
		e.p("func %s(t int16) Message {\nswitch t {", g.fn)
		for _, s := range records {
			if s.pkg == g.pkg && strings.HasSuffix(s.name, g.suffix) {
				e.p("case %s:\nreturn new(New%s())", strconv.Itoa(int(s.apiKey)), s.name)
			}
		}
		e.p("}\nreturn nil\n}\n")
	}
}
