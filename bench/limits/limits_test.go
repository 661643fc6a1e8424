package limits

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	values, err := Measure(dir, 3<<20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, v := range values {
		if v.Value <= 0 || v.Unit == "" || seen[v.Name] {
			t.Errorf("%+v", v)
		}
		seen[v.Name] = true
	}
	for _, want := range []string{"write, 1024 KiB", "read, warm", "loopback, sendfile", "1 KiB and fsync", "CRC-32C, 1 MiB", "copy, 64 MiB"} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := Read(filepath.Join(dir, "missing")); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestZstd(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]byte, batchRecords)
	batch[batchFlags] = zstdFlags
	batch = encoder.EncodeAll(make([]byte, 100_000), batch)
	binary.BigEndian.PutUint32(batch[batchLength:], uint32(len(batch)-batchRest))
	plain := make([]byte, batchRecords+10)
	binary.BigEndian.PutUint32(plain[batchLength:], uint32(len(plain)-batchRest))
	name := filepath.Join(t.TempDir(), "0.log")
	for what, b := range map[string][]byte{"": append(append(bytes.Clone(batch), plain...), batch...), "cut off": batch[:len(batch)-1], "no zstd": append(bytes.Clone(batch[:batchRecords+4]), make([]byte, len(batch))...)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if took, err := Zstd(name); (err == nil) != (what == "") || what == "" && took <= 0 {
			t.Errorf("%q: %v, %v", what, took, err)
		}
	}
}
