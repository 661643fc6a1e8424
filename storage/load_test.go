package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// TestLeftovers: files of interrupted operations are removed or completed (specification 9.2).
func TestLeftovers(t *testing.T) {
	w := newWorld(t).small()
	l := w.open()
	w.fill(l, 50)
	w.close(l)
	segments := l.Segments()
	dir := l.Dir() + "/"
	name := func(i int, suffix string) string {
		return strings.TrimSuffix(segments[i].Path, ".log") + suffix
	}
	// A compaction of segments 1 and 2 had come as far as renaming its output to .swap, and one of the old files is gone.
	swap := slices.Concat(readFile(t, w.fs, name(1, ".log")), readFile(t, w.fs, name(2, ".log")))
	writeFile(t, w.fs, name(1, ".log.swap"), swap)
	writeFile(t, w.fs, name(1, ".index.swap"), nil)
	writeFile(t, w.fs, name(1, ".timeindex.swap"), nil)
	if err := w.fs.Remove(name(1, ".log")); err != nil {
		t.Fatal(err)
	}
	// Another one was still at work further up.
	writeFile(t, w.fs, name(4, ".log.cleaned"), []byte("unfinished"))
	writeFile(t, w.fs, name(5, ".log.swap"), []byte("of the same"))
	// And what else may lie about.
	writeFile(t, w.fs, dir+"00000000000000000099.log.deleted", []byte("deleted"))
	writeFile(t, w.fs, dir+"00000000000000000099.index", []byte("index without log"))
	writeFile(t, w.fs, dir+"00000000000000000000.timeindex.tmp", []byte("half an index"))
	writeFile(t, w.fs, dir+"00000000000000000000-0000000000.checkpoint.deleted", []byte("not ours"))
	writeFile(t, w.fs, dir+"quorum-state", []byte("not ours"))

	l = w.open(clean)
	w.expect(l, 0, 50)
	if n := len(l.Segments()); n != len(segments)-1 {
		t.Errorf("%d segments, there were %d", n, len(segments))
	}
	w.close(l)
	for f := range w.files(l.Dir()) {
		theirs := strings.HasPrefix(f, "quorum") || strings.Contains(f, ".checkpoint")
		if strings.HasSuffix(f, ".swap") || strings.HasSuffix(f, ".cleaned") || strings.Contains(f, "99") || strings.HasSuffix(f, ".tmp") ||
			strings.HasSuffix(f, ".deleted") && !theirs {
			t.Errorf("%s is still there", f)
		}
	}
	for _, f := range []string{"quorum-state", "00000000000000000000-0000000000.checkpoint.deleted"} {
		if _, err := w.fs.Stat(dir + f); err != nil {
			t.Error(err)
		}
	}
}

// TestLoadOpensNothingSealed: a log that was closed in order is loaded from the listing of its directory; of its sealed
// segments nothing is opened before somebody reads there, nor when it is closed again.
func TestLoadOpensNothingSealed(t *testing.T) {
	mem := vfs.NewMem()
	w := worldOn(t, mem).small()
	l := w.open()
	w.fill(l, 100)
	w.close(l)
	segments := l.Segments()
	sealed := map[string]bool{}
	for _, s := range segments[:len(segments)-1] {
		for _, suffix := range []string{".log", ".index", ".timeindex", ".txnindex"} {
			sealed[strings.TrimSuffix(s.Path, ".log")+suffix] = true
		}
	}
	var opened []string
	w = worldOn(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if sealed[op.Path] {
			opened = append(opened, op.String())
		}
		return nil
	})).small()
	l = w.open(clean)
	w.close(l)
	if len(opened) > 0 {
		t.Errorf("sealed files were touched: %q", opened)
	}
	l = w.open(clean)
	defer l.Abandon()
	w.expect(l, 0, 100)
	if len(opened) == 0 {
		t.Error("reading touched nothing")
	}
}

// TestMissingFiles: indexes that are missing are made anew, after a stop in order too.
func TestMissingFiles(t *testing.T) {
	for _, suffix := range []string{".index", ".timeindex"} {
		for _, which := range []int{2, -1} {
			for _, stop := range []string{"clean", "killed"} {
				t.Run(fmt.Sprint(suffix, which, stop), func(t *testing.T) {
					w := newWorld(t).small()
					l := w.open()
					w.fill(l, 50)
					if stop == "clean" {
						w.close(l)
					} else {
						l.Abandon()
					}
					segments := l.Segments()
					s := segments[(which+len(segments))%len(segments)]
					path := strings.TrimSuffix(s.Path, ".log") + suffix
					if err := w.fs.Remove(path); err != nil {
						t.Fatal(err)
					}
					l = w.open(func(o *Options) { o.Clean, o.RecoveryPoint = stop == "clean", l.RecoveryPoint() })
					w.expect(l, 0, 50)
					w.close(l)
					if len(readFile(t, w.fs, path)) == 0 {
						t.Error("the index is empty")
					}
				})
			}
		}
	}
}

// TestLegacySegments opens logs of magic 0 and 1 that a broker wrote, in order and as if killed, and reads them.
func TestLegacySegments(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4"} {
		for _, version := range []string{"0.9.0", "0.10.2"} {
			for _, stop := range []string{"clean", "killed"} {
				t.Run(codec+"/"+version+"/"+stop, func(t *testing.T) {
					files := kafkaLog(t, "legacy/old-"+version+"-"+codec+"-0")
					w := newWorld(t)
					w.config.IndexIntervalBytes = 4096
					w.install(files)
					l := w.open(func(o *Options) { o.Clean = stop == "clean" })
					if l.LogEndOffset() != 300 || len(w.contents(l)) != 300 || w.kinds() != "" {
						t.Errorf("log end %d, %d records, events %s", l.LogEndOffset(), len(w.contents(l)), w.kinds())
					}
					l.SetHighWatermark(300)
					for o := range record.Offset(300) {
						info, err := l.Read(o, HighWatermark, 1, true)
						if err != nil || info.Region.Length == 0 {
							t.Fatalf("read at %d: %+v, %v", o, info, err)
						}
						info.Region.Release()
					}
					if _, ok, err := l.MaxTimestampOffset(); err != nil || ok != (version == "0.10.2") {
						t.Errorf("a largest timestamp: %v, %v", ok, err)
					}
					w.append(l, batchOf(startMs, "new"), AppendOptions{LeaderEpoch: 1})
					w.close(l)
				})
			}
		}
	}
}

// TestI12CompactedSegments reads what Kafka's compaction left, with its gaps, at every offset (C-09 too).
func TestI12CompactedSegments(t *testing.T) {
	for _, stop := range []string{"clean", "killed", "killed, recovery point 0"} {
		t.Run(stop, func(t *testing.T) {
			w := newWorld(t)
			w.install(kafkaLog(t, "clean/compacted-0"))
			l := w.open(func(o *Options) {
				o.Clean, o.RecoveryPoint = stop == "clean", 2060
				if stop == "killed, recovery point 0" {
					o.RecoveryPoint = 0
				}
			})
			defer l.Abandon()
			if w.kinds() != "" || l.LogEndOffset() != 3000 {
				t.Errorf("events %s, log end %d", w.kinds(), l.LogEndOffset())
			}
			l.SetHighWatermark(3000)
			last := record.Offset(-1)
			for o := range record.Offset(3000) {
				info, err := l.Read(o, HighWatermark, 1, true)
				if err != nil || info.Region.Length == 0 {
					t.Fatalf("read at %d: %+v, %v", o, info, err)
				}
				b := make(record.Batch, info.Region.Length)
				if err := info.Region.ReadInto(b); err != nil || b.CheckCRC() != nil || b.LastOffset() < o {
					t.Fatalf("read at %d: batch %d..%d after %d, %v", o, b.BaseOffset(), b.LastOffset(), last, err)
				}
				last = b.LastOffset()
				info.Region.Release()
			}
		})
	}
}
