package load

import (
	"context"
	"fmt"
	"os"
	"time"
)

// dirtyLimit is the size at which the file of Dirty begins anew.
const dirtyLimit = 4 << 30

// dirty fills the page cache with a growing file, which the system writes back in the background. The file is removed
// when ctx ends; a process that was killed leaves it to whoever owns the directory.
func (j Job) dirty(ctx context.Context) (Result, error) {
	f, err := os.Create(j.File)
	if err != nil {
		return Result{}, fmt.Errorf("write beside: %w", err)
	}
	defer os.Remove(j.File)
	defer f.Close()
	block := newPayload(1<<20, false).next()
	began := time.Now()
	var written int64
	for ctx.Err() == nil {
		if due := int64(time.Since(began).Seconds() * j.Rate * 1e6); written > due {
			time.Sleep(time.Millisecond)
			continue
		}
		if _, err := f.Write(block); err != nil {
			return Result{}, fmt.Errorf("write beside: %w", err)
		}
		if written += int64(len(block)); written%dirtyLimit == 0 {
			if err := f.Truncate(0); err != nil {
				return Result{}, fmt.Errorf("write beside: %w", err)
			}
			if _, err := f.Seek(0, 0); err != nil {
				return Result{}, fmt.Errorf("write beside: %w", err)
			}
		}
	}
	return Result{Bytes: written, Seconds: time.Since(began).Seconds()}, nil
}
