package testarchive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Files are the headers and contents of a tar.zst or tar.gz; directories have no content.
func Files(t testing.TB, archive string) iter.Seq2[*tar.Header, []byte] {
	return func(yield func(*tar.Header, []byte) bool) {
		t.Helper()
		f, err := os.Open(archive)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := decompress(f)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for tr := tar.NewReader(z); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(h, b) {
				return
			}
		}
	}
}

// decompress goes by the ending of the name.
func decompress(f *os.File) (io.ReadCloser, error) {
	if filepath.Ext(f.Name()) == ".gz" {
		return gzip.NewReader(f)
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
