package main

import (
	"fmt"
	"strings"
)

// methods writes read, AppendTo and AppendJSON of st.
func (e *emitter) methods(s *schema, st *structure) {
	e.readMethod(s, st)
	e.appendMethod(s, st)
	e.jsonMethod(s, st)
}

// flexible is the Go expression that tells whether version is flexible.
func (s *schema) flexible() string { return s.since(s.flexibleFrom) }

// since is the Go expression that tells whether version is at least from.
func (s *schema) since(from int16) string {
	switch {
	case from <= s.low:
		return "true"
	case from > s.high:
		return "false"
	}
	return fmt.Sprintf("version >= %d", from)
}

// when is the Go condition that version has f, "" when all have it.
func (f *field) when(s *schema) string {
	switch {
	case f.from == s.low && f.to == s.high:
		return ""
	case f.to == s.high:
		return fmt.Sprintf("version >= %d", f.from)
	case f.from == f.to:
		return fmt.Sprintf("version == %d", f.from)
	case f.from == s.low:
		return fmt.Sprintf("version <= %d", f.to)
	}
	return fmt.Sprintf("version >= %d && version <= %d", f.from, f.to)
}

// guarded writes body under the conditions that are not empty.
func (e *emitter) guarded(body string, conditions ...string) {
	var set []string
	for _, c := range conditions {
		if c != "" {
			if strings.Contains(c, "||") && len(conditions) > 1 {
				c = "(" + c + ")"
			}
			set = append(set, c)
		}
	}
	if len(set) == 0 {
		e.p("%s", strings.TrimSpace(body))
		return
	}
	e.p("if %s {\n%s\n}", strings.Join(set, " && "), strings.TrimSpace(body))
}

func (e *emitter) readMethod(s *schema, st *structure) {
	e.p("func (m *%s) read(r *reader, version int16) {\n*m = New%s()", st.goName, st.goName)
	tagged := false
	for _, f := range st.wire {
		if f.tag >= 0 {
			tagged = true
			continue
		}
		e.guarded(f.read(s, "r"), f.when(s))
	}
	if s.flexibleFrom > s.high {
		e.p("}\n")
		return
	}
	body := "m.unknown = r.tags(nil)"
	if tagged {
		var b emitter
		b.p("m.unknown = r.tags(func(tag uint32, r *reader) bool {\nswitch {")
		for _, f := range st.wire {
			if f.tag < 0 {
				continue
			}
			cond := fmt.Sprintf("tag == %d", f.tag)
			if w := f.when(s); w != "" {
				cond += " && " + w
			}
			b.p("case %s:\n%s", cond, f.read(s, "r"))
		}
		b.p("default:\nreturn false\n}\nreturn true\n})")
		body = b.String()
	}
	if s.flexibleFrom <= s.low {
		e.p("%s\n}\n", strings.TrimSpace(body))
		return
	}
	e.guarded(body, s.flexible())
	e.p("}\n")
}

// read is the statement that reads f.
func (f *field) read(s *schema, r string) string {
	flex := s.since(f.compactFrom)
	target := "m." + f.goName
	switch f.kind {
	case "struct":
		if !f.nullable {
			return fmt.Sprintf("%s.read(%s, version)", target, r)
		}
		// KIP-893: a byte -1 or 1 before a nullable structure, but a varint 0 or 1 when it is tagged.
		present := r + ".int8() >= 0"
		if f.tag >= 0 {
			present = r + ".uvarint() != 0"
		}
		return fmt.Sprintf("%s = nil\nif %s {\n%s = new(%s)\n%s.read(%s, version)\n}", target, present, target, f.of.goName, target, r)
	case "array":
		return fmt.Sprintf("%s = readArray(%s, %s, %t, %d, %s)", target, r, flex, f.nullable, f.elemSize(s), f.elemReader(flex))
	case "bytes":
		return fmt.Sprintf("%s = %s.bytes(%s, %t)", target, r, flex, f.nullable)
	case "string":
		if f.nullable {
			return fmt.Sprintf("%s = %s.nullableString(%s)", target, r, flex)
		}
		return fmt.Sprintf("%s = %s.string(%s)", target, r, flex)
	}
	return fmt.Sprintf("%s = %s.%s()", target, r, readerMethod(f.kind))
}

func readerMethod(kind string) string {
	if kind == "boolean" {
		return "bool"
	}
	return kind
}

func (f *field) elemReader(flex string) string {
	switch {
	case f.of != nil:
		return fmt.Sprintf("func(r *reader) (m %s) { m.read(r, version); return m }", f.of.goName)
	case f.elem == "string":
		return fmt.Sprintf("func(r *reader) string { return r.string(%s) }", flex)
	}
	return "(*reader)." + readerMethod(f.elem)
}

// fixedSizes are the encoded sizes of the scalar kinds.
var fixedSizes = map[string]int{
	"int8": 1, "boolean": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16,
}

// elemSize is the least number of bytes that an element of f takes in any version.
func (f *field) elemSize(s *schema) int {
	if f.of != nil {
		return f.of.minSize(s)
	}
	if n, ok := fixedSizes[f.elem]; ok {
		return n
	}
	return 1 // the length of an empty compact string
}

func (st *structure) minSize(s *schema) int {
	n := 0
	for _, f := range st.wire {
		switch {
		case f.tag >= 0 || f.when(s) != "":
		case f.kind == "struct" && !f.nullable:
			n += f.of.minSize(s)
		default:
			n += max(1, fixedSizes[f.kind])
		}
	}
	return max(1, n)
}

func (e *emitter) appendMethod(s *schema, st *structure) {
	e.p("func (m *%s) AppendTo(dst []byte, version int16) []byte {", st.goName)
	var tagged []*field
	for _, f := range st.wire {
		if f.tag >= 0 {
			tagged = append(tagged, f)
			continue
		}
		e.guarded(f.append(s), f.when(s))
	}
	if s.flexibleFrom > s.high {
		e.p("return dst\n}\n")
		return
	}
	if s.flexibleFrom > s.low {
		e.p("if version < %d {\nreturn dst\n}", s.flexibleFrom)
	}
	e.p("tags := len(m.unknown)")
	for _, f := range tagged {
		e.guarded("tags++", f.when(s), f.differs())
	}
	e.p("dst = binary.AppendUvarint(dst, uint64(tags))")
	for _, f := range tagged {
		var b emitter
		b.p("dst = binary.AppendUvarint(dst, %d)\nstart := len(dst)\n%s\ndst = endTag(dst, start)", f.tag, f.append(s))
		e.guarded(b.String(), f.when(s), f.differs())
	}
	e.p("return appendRawTags(dst, m.unknown)\n}\n")
}

// append is the statement that writes f.
func (f *field) append(s *schema) string {
	flex, source := s.since(f.compactFrom), "m."+f.goName
	switch f.kind {
	case "struct":
		if !f.nullable {
			return fmt.Sprintf("dst = %s.AppendTo(dst, version)", source)
		}
		null := "-1"
		if f.tag >= 0 {
			null = "0"
		}
		return fmt.Sprintf("if %s == nil {\ndst = appendInt8(dst, %s)\n} else {\ndst = %s.AppendTo(appendInt8(dst, 1), version)\n}", source, null, source)
	case "array":
		elem := "append" + title(f.elem)
		switch {
		case f.of != nil:
			elem = fmt.Sprintf("func(dst []byte, e %s) []byte { return e.AppendTo(dst, version) }", f.of.goName)
		case f.elem == "string":
			elem = fmt.Sprintf("func(dst []byte, e string) []byte { return appendString(dst, e, %s) }", flex)
		}
		return fmt.Sprintf("dst = appendArray(dst, %s, %s, %t, %s)", source, flex, f.nullable, elem)
	case "bytes":
		return fmt.Sprintf("dst = appendBytes(dst, %s, %s, %t)", source, flex, f.nullable)
	case "string":
		if f.nullable {
			return fmt.Sprintf("dst = appendNullableString(dst, %s, %s)", source, flex)
		}
		return fmt.Sprintf("dst = appendString(dst, %s, %s)", source, flex)
	}
	return fmt.Sprintf("dst = append%s(dst, %s)", title(f.kind), source)
}

func title(kind string) string {
	switch kind {
	case "boolean":
		return "Bool"
	case "uuid":
		return "UUID"
	}
	return strings.ToUpper(kind[:1]) + kind[1:]
}

// differs is the Go condition that a tagged field is not at its default, "" for an untagged one.
func (f *field) differs() string {
	if f.tag < 0 {
		return ""
	}
	v := "m." + f.goName
	switch {
	case f.defaultNull:
		return v + " != nil"
	case f.kind == "struct" && f.nullable:
		return fmt.Sprintf("%s == nil || !bytes.Equal(%s.AppendTo(nil, version), new(New%s()).AppendTo(nil, version))", v, v, f.of.goName)
	case f.kind == "array" && f.nullable:
		return fmt.Sprintf("%s == nil || len(%s) != 0", v, v)
	case f.kind == "array":
		return fmt.Sprintf("len(%s) != 0", v)
	case f.kind == "uuid":
		return fmt.Sprintf("!%s.IsZero()", v)
	case f.kind == "boolean":
		return v
	case f.defaultValue != "":
		return v + " != " + f.defaultValue
	}
	return v + " != 0"
}

func (e *emitter) jsonMethod(s *schema, st *structure) {
	e.p("func (m *%s) AppendJSON(dst []byte, version int16) []byte {\ndst = append(dst, '{')", st.goName)
	for _, f := range st.fields {
		e.guarded(fmt.Sprintf("dst = appendName(dst, %q)\n%s", f.name, f.json()), f.when(s), f.differs())
	}
	e.p("return append(dst, '}')\n}\n")
}

// json is the statement that writes f's value.
func (f *field) json() string {
	v := "m." + f.goName
	switch f.kind {
	case "struct":
		if !f.nullable {
			return fmt.Sprintf("dst = %s.AppendJSON(dst, version)", v)
		}
		return fmt.Sprintf("if %s == nil {\ndst = append(dst, \"null\"...)\n} else {\ndst = %s.AppendJSON(dst, version)\n}", v, v)
	case "array":
		elem := jsonFunc(f.elem)
		if f.of != nil {
			elem = fmt.Sprintf("func(dst []byte, e %s) []byte { return e.AppendJSON(dst, version) }", f.of.goName)
		}
		return fmt.Sprintf("dst = jsonArray(dst, %s, %t, %s)", v, f.nullable, elem)
	case "string":
		if f.nullable {
			return fmt.Sprintf("dst = jsonNullableString(dst, %s)", v)
		}
	}
	return fmt.Sprintf("dst = %s(dst, %s)", jsonFunc(f.kind), v)
}

func jsonFunc(kind string) string {
	switch kind {
	case "boolean", "string", "bytes", "uuid", "float64":
		return "json" + title(kind)
	}
	return "jsonInt[" + kind + "]"
}
