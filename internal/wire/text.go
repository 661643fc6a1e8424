package wire

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// replaceBadText puts U+FFFD in place of bytes that are not UTF-8 in all strings of a request, as decoding in Java
// does, so that no room has to think of them.
func replaceBadText(req kmsg.Request) {
	replaceIn(reflect.ValueOf(req).Elem())
}

func replaceIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); v.CanSet() && !utf8.ValidString(s) {
			v.SetString(validText(s))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			replaceIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			replaceIn(v.Field(i))
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Uint8 || k >= reflect.Bool && k <= reflect.Complex128 {
			return
		}
		for i := range v.Len() {
			replaceIn(v.Index(i))
		}
	}
}

// validText replaces each byte that cannot be decoded, not each run of them.
func validText(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
