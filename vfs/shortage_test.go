package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestShortageIsNoDiskFailure(t *testing.T) {
	for _, c := range []struct {
		err             error
		full, exhausted bool
	}{
		{syscall.ENOSPC, true, false},
		{syscall.EDQUOT, true, false},
		{&Partial{Keep: 3, Err: syscall.ENOSPC}, true, false},
		{syscall.EMFILE, false, true},
		{syscall.ENFILE, false, true},
		{syscall.EIO, false, false},
		{syscall.EROFS, false, false},
		{fs.ErrNotExist, false, false},
		{nil, false, false},
	} {
		wrapped := c.err
		if wrapped != nil {
			wrapped = fmt.Errorf("appending: %w", &fs.PathError{Op: "write", Path: "x", Err: c.err})
		}
		if IsFull(wrapped) != c.full || IsExhausted(wrapped) != c.exhausted || IsShortage(wrapped) != (c.full || c.exhausted) {
			t.Errorf("%v: full %v, exhausted %v", wrapped, IsFull(wrapped), IsExhausted(wrapped))
		}
	}
}

// limitedFS allows so many open files, as RLIMIT_NOFILE does.
func limitedFS(limit int) (*Fault, *int) {
	open := new(int)
	return NewFault(NewMem(), func(op Op) error {
		switch op.Kind {
		case OpOpen, OpReadDir, OpSyncDir:
			if *open >= limit {
				return syscall.EMFILE
			}
			if op.Kind == OpOpen {
				*open++
			}
		case OpClose:
			*open--
		}
		return nil
	}), open
}

// when descriptors run out, those of idle files are given back, for other files and for directories.
func TestR29IdleFilesGiveTheirDescriptorsBack(t *testing.T) {
	fsys, open := limitedFS(8)
	h := NewHandles(fsys, 1000)
	for i := range 50 {
		x, err := h.Open(fmt.Sprintf("f%d", i), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
		defer x.Close()
	}
	for *open < 8 { // up to the brim again
		x, err := h.Open("g", os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
	}
	p := h.Patient()
	if err := p.SyncDir("."); err != nil {
		t.Errorf("SyncDir: %v", err)
	}
	f, err := p.OpenFile("checkpoint", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// where nothing is idle the call waits for what others give back, and not for ever.
func TestR29WaitsForADescriptor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		busy.Store(true)
		h := NewHandles(NewFault(NewMem(), func(op Op) error {
			if busy.Load() && op.Kind == OpOpen {
				return syscall.EMFILE
			}
			return nil
		}), 4)
		time.AfterFunc(20*time.Millisecond, func() { busy.Store(false) })
		if _, err := h.Open("a", os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			t.Errorf("a descriptor came back meanwhile: %v", err)
		}
		busy.Store(true)
		began := time.Now()
		_, err := h.Patient().OpenFile("b", os.O_RDWR|os.O_CREATE, 0o644)
		if !errors.Is(err, syscall.EMFILE) || time.Since(began) > time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}
