package samsa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
	"github.com/samsalog/samsa/vfs/overlay"
)

// readOnlyProperties are settings that a read-only broker has whatever the configuration says: nothing is forgotten
// because time has passed since the directories were written.
func readOnlyProperties() map[string]string {
	const never = "2147483647"
	return map[string]string{
		"auto.create.topics.enable":      "false",
		"log.cleaner.enable":             "false",
		"offsets.retention.minutes":      never,
		"transactional.id.expiration.ms": never,
		"samsa.log.dir.reserve.bytes":    "0",
		"samsa.scrub.interval.ms":        "0",
	}
}

// asFound sets node.id and metadata.log.dir as the directories have them.
func (c *Config) asFound(props map[string]string) error {
	fsys := c.fs()
	for dir := range strings.SplitSeq(cmp.Or(props["log.dirs"], props["log.dir"]), ",") {
		dir = strings.TrimSpace(dir)
		info, err := fsys.Stat(dir)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err != nil {
			return fmt.Errorf("log directory %s, which is to be served read-only: %w", dir, err)
		}
		meta, err := checkpoint.ReadMetaProperties(fsys, filepath.Join(dir, checkpoint.MetaPropertiesFile))
		if err == nil && meta.NodeID != checkpoint.NoNodeID {
			delete(props, "broker.id")
			props["node.id"] = nodeName(meta.NodeID)
		}
		if _, err := fsys.Stat(filepath.Join(dir, metadata.TopicName+"-0")); err == nil {
			props["metadata.log.dir"] = dir
		}
	}
	return nil
}

// watchInterval is how soon it is noticed that another broker has begun to work on a directory that is served read-only.
const watchInterval = time.Second

// openOverlay puts a scratch directory over the directories: from here on s.fs is the overlay.
func (s *starting) openOverlay(context.Context) error {
	if !s.readOnly {
		return nil
	}
	scratch, scratchFS, temporary := s.scratch, s.fs, s.scratch == ""
	if temporary {
		var err error
		if scratch, err = os.MkdirTemp("", "samsa-read-only-"); err != nil {
			return fmt.Errorf("no scratch directory to serve read-only with: %w", err)
		}
		scratchFS = vfs.NewOS()
	}
	drop := func() error {
		if temporary {
			return os.RemoveAll(scratch)
		}
		return nil
	}
	roots := s.layers(nil).LogDirs()
	if m := s.metadataDir(); m != roots[0] {
		roots = append(roots[:len(roots):len(roots)], m)
	}
	over, err := overlay.Open(overlay.Options{Base: s.fs, Scratch: scratchFS, Dir: scratch, Roots: roots})
	if err != nil {
		return errors.Join(err, drop())
	}
	ctx, stop := context.WithCancel(context.Background())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		s.watch(ctx, over)
	}()
	s.b.release = func() error {
		stop()
		<-watching
		return errors.Join(over.Close(), drop())
	}
	s.undos = append(s.undos, func() { _ = s.b.release() })
	s.fs = over
	s.log.Info("serving read-only: what has to be written goes to a scratch directory", "scratch", over.Dir(), "removed_at_stop", temporary)
	return nil
}

// watch stops the broker when another one begins to change what it reads.
func (s *starting) watch(ctx context.Context, over *overlay.FS) {
	ticks := time.NewTicker(watchInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			if err := over.Disturbed(); err != nil {
				s.b.fail(fmt.Errorf("what is served read-only is being changed: %w", err))
				return
			}
		}
	}
}
