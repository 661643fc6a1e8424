package repair

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/vfs"
)

// whole is a log directory that Apache Kafka 4.4.0 left after a clean stop, with "made-0", three segments that were made here.
func whole(t testing.TB) *vfs.Mem {
	t.Helper()
	f, err := os.Open("../testdata/kafka-4.4.0-directory.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	fsys := vfs.NewMem()
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			put(t, fsys, filepath.Join("/data", h.Name), b)
		}
	}
	rolled(t, fsys)
	syncAll(t, fsys, "/")
	return fsys
}

// rolled writes a partition of three segments with indexes as Kafka would.
func rolled(t testing.TB, fsys vfs.FS) {
	t.Helper()
	offset := record.Offset(0)
	for range 3 {
		base := offset
		var log []byte
		for range 40 {
			o := record.DefaultBuilderOptions()
			o.BaseOffset, o.LeaderEpoch = offset, 0
			b := record.NewBuilder(o)
			for range 5 {
				b.Append(1700000000000+int64(offset)*10, []byte("key"), bytes.Repeat([]byte{byte(offset)}, 100), nil)
				offset++
			}
			log = append(log, b.Build()...)
		}
		put(t, fsys, "/data/made-0/"+name(base)+".log", log)
		offsets, times, err := indexContent(fsys, "/data/made-0/"+name(base)+".log", int64(base))
		if err != nil {
			t.Fatal(err)
		}
		put(t, fsys, "/data/made-0/"+name(base)+".index", offsets)
		put(t, fsys, "/data/made-0/"+name(base)+".timeindex", times)
	}
	put(t, fsys, "/data/made-0/leader-epoch-checkpoint", []byte("0\n1\n0 0\n"))
	put(t, fsys, "/data/made-0/partition.metadata", []byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAJQ"))
}

func name(base record.Offset) string {
	s := "00000000000000000000"
	n := ""
	for v := base; v > 0; v /= 10 {
		n = string(rune('0'+v%10)) + n
	}
	return s[:20-len(n)] + n
}

func put(t testing.TB, fsys vfs.FS, path string, b []byte) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fsys.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// syncAll makes the names durable.
func syncAll(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			syncAll(t, fsys, filepath.Join(dir, e.Name()))
		}
	}
	if err := fsys.SyncDir(dir); err != nil {
		t.Fatal(err)
	}
}

// tree is every file's content.
func tree(t testing.TB, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			for k, v := range tree(t, fsys, path) {
				all[k] = v
			}
			continue
		}
		if e.Name() == lockFile {
			continue // a process that ends without its defers leaves it; brokers do too
		}
		b, err := readFile(fsys, path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(b)
	}
	return all
}

// same fails where two trees differ.
func same(t testing.TB, got, want map[string]string) {
	t.Helper()
	for path, b := range want {
		if have, ok := got[path]; !ok {
			t.Errorf("%s is missing", path)
		} else if have != b {
			t.Errorf("%s: %d bytes differ from %d", path, len(have), len(b))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s should not be there", path)
		}
	}
}

// findings are what verify says of a directory.
func findings(t testing.TB, fsys vfs.FS, dir string) (all []verify.Finding) {
	t.Helper()
	_, err := verify.Run(context.Background(), verify.Options{FS: fsys, Path: dir}, func(f verify.Finding) { all = append(all, f) })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func options(fsys vfs.FS) Options {
	return Options{FS: fsys, Dir: "/data", Now: func() time.Time { return time.Unix(1700000000, 0) }}
}

// batches are the bytes of all batches with a right checksum in a `.log`.
func batches(b []byte) map[string]int {
	all := map[string]int{}
	for s := record.NewScanner(b); s.Next(); {
		if s.Batch().CheckCRC() == nil {
			all[string(s.Batch())]++
		}
	}
	return all
}
