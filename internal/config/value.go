package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Value is a parsed value. Which of its fields counts follows from the config's type.
type Value struct {
	// Null marks the absence of a value; everything else is zero then.
	Null bool
	Bool bool
	// Int holds int, short and long.
	Int   int64
	Float float64
	// Text holds string, class and password.
	Text string
	List []string
}

// parse reads raw as ConfigDef.parseType does: it is trimmed, list elements are too and, where the key has list rules, duplicates dropped. The text returned is
// the reason of a refusal, "" for none.
func parse(t Type, raw string) (Value, string) {
	trimmed := strings.TrimSpace(raw)
	switch t {
	case Boolean:
		switch {
		case strings.EqualFold(trimmed, "true"):
			return Value{Bool: true}, ""
		case strings.EqualFold(trimmed, "false"):
			return Value{}, ""
		}
		return Value{}, "expected value to be either true or false"
	case Int:
		return parseInt(trimmed, 32, "INT")
	case Short:
		return parseInt(trimmed, 16, "SHORT")
	case Long:
		return parseInt(trimmed, 64, "LONG")
	case Double:
		f, ok := parseDouble(trimmed)
		if !ok {
			return Value{}, "not a number of type DOUBLE"
		}
		return Value{Float: f}, ""
	case List:
		return Value{List: splitList(trimmed)}, ""
	default:
		return Value{Text: trimmed}, ""
	}
}

func parseInt(s string, bits int, name string) (Value, string) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return Value{}, "not a number of type " + name
	}
	return Value{Int: n}, ""
}

// parseDouble reads what Java's Double.parseDouble reads in decimal: an optional sign, digits, exponent, an
// f, F, d or D behind it, and the words NaN and Infinity in just this spelling.
func parseDouble(s string) (float64, bool) {
	switch strings.TrimLeft(s, "+-") {
	case "NaN":
		return math.NaN(), len(s) <= 4
	case "Infinity":
		sign := 1
		if strings.HasPrefix(s, "-") {
			sign = -1
		}
		return math.Inf(sign), len(s) <= 9
	}
	if n := len(s); n > 1 && strings.ContainsRune("fFdD", rune(s[n-1])) {
		s = s[:n-1]
	}
	if strings.ContainsAny(s, "_xXpPnNiI") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if ne, ok := err.(*strconv.NumError); ok && ne.Err == strconv.ErrRange {
		return f, true // Java rounds to infinity or zero
	}
	return f, err == nil
}

// splitList splits at commas and trims the elements; the empty text is the empty list.
func splitList(s string) []string {
	if s == "" {
		return []string{}
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// text returns v in its canonical form, which is what DescribeConfigs shows (ConfigDef.convertToString).
func (v Value) text(t Type) string {
	switch t {
	case Boolean:
		return strconv.FormatBool(v.Bool)
	case Int, Short, Long:
		return strconv.FormatInt(v.Int, 10)
	case Double:
		return javaDouble(v.Float)
	case List:
		return strings.Join(v.List, ",")
	default:
		return v.Text
	}
}

// javaDouble formats f as Java's Double.toString: shortest digits, scientific below 1e-3 and from 1e7 on,
// always with a fraction.
func javaDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exp) // written by FormatFloat: always a number
	return mantissa + "E" + strconv.Itoa(n)
}

// Parse reads raw as a value of d and checks it. A refusal is an *Error.
func (d *Definition) Parse(raw string) (Value, error) {
	v, reason := parse(d.Type, raw)
	if reason != "" {
		return Value{}, &Error{Name: d.Name, Value: raw, Reason: reason}
	}
	if d.Type == List {
		if _, ok := d.check.(listCheck); ok {
			v.List = dedupe(v.List)
		}
	}
	if d.check != nil {
		if reason := d.check.refuse(v); reason != "" {
			return Value{}, &Error{Name: d.Name, Value: raw, Reason: reason}
		}
	}
	return v, nil
}

// dedupe drops later duplicates, keeping the order.
func dedupe(list []string) []string {
	out := list[:0:0]
	for _, e := range list {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}
