package pagecache

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mostLeft is the share of the bytes that may stay in memory (PGC-1).
const mostLeft = 0.01

// Fill brings the regular files below dirs into memory (PGC-2).
func Fill(dirs ...string) error {
	return each(dirs, func(f *os.File, _ int64) error {
		_, err := io.Copy(io.Discard, f)
		return err
	})
}

func each(dirs []string, do func(f *os.File, size int64) error) error {
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			return do(f, info.Size())
		})
		if err != nil {
			return fmt.Errorf("page cache: %w", err)
		}
	}
	return nil
}
