package loglevel

import (
	"bytes"
	"log/slog"
	"maps"
	"strings"
	"testing"
)

func TestLevels(t *testing.T) {
	var out bytes.Buffer
	var levels Levels
	log := slog.New(levels.Handler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	wire := log.With(Room, "wire").WithGroup("g")
	said := func(want ...string) {
		t.Helper()
		out.Reset()
		for _, l := range []*slog.Logger{log, wire} {
			l.Debug("d")
			l.Info("i")
			l.Error("e")
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			from := "root"
			if strings.Contains(line, "room=wire") {
				from = "wire"
			}
			_, msg, _ := strings.Cut(line, "msg=")
			got = append(got, from+"."+msg[:1])
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("said %v, want %v", got, want)
		}
	}
	shown := func(root, room string) {
		t.Helper()
		if got := levels.All(); !maps.Equal(got, map[string]string{"root": root, "wire": room}) {
			t.Errorf("levels %v, want %s %s", got, root, room)
		}
	}
	shown("INFO", "INFO") // LVL-1
	said("root.i", "root.e", "wire.i", "wire.e")
	if !levels.Set("wire", slog.LevelDebug) { // LVL-2, LVL-3
		t.Fatal("wire is not there")
	}
	shown("INFO", "DEBUG")
	said("root.i", "root.e", "wire.d", "wire.i", "wire.e")
	levels.Set(Root, slog.LevelError)
	shown("ERROR", "DEBUG")
	said("root.e", "wire.d", "wire.i", "wire.e")
	levels.Unset("wire")
	shown("ERROR", "ERROR")
	levels.Unset(Root)
	shown("INFO", "INFO")
	if levels.Set("nobody", slog.LevelDebug) || levels.Unset("nobody") || levels.Has("nobody") || !levels.Has(Root) {
		t.Error("a room that is not there")
	}
}

func TestParse(t *testing.T) {
	for _, n := range Names() {
		level, ok := Parse(n)
		var levels Levels
		levels.Handler(slog.DiscardHandler)
		levels.Set(Root, level)
		if got := levels.All()[Root]; !ok || got != n {
			t.Errorf("%s: %v %q", n, ok, got)
		}
	}
	for _, bad := range []string{"info", "LOUD", "", "OFF"} {
		if _, ok := Parse(bad); ok {
			t.Errorf("%q is a level", bad)
		}
	}
}
