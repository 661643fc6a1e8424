package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/vfs"
)

// metadataTopic is the directory of the metadata log.
const metadataTopic = "__cluster_metadata"

// remoteCache is a directory that is no partition's.
const remoteCache = "remote-log-index-cache"

// dirFacts are what the files of a log directory tell of its partitions.
type dirFacts struct {
	clean                                   bool
	recovery, highWatermark, start, cleaner map[record.TopicPartition]record.Offset
	noRecovery                              bool
}

// readFacts reads the files beside the partitions; out hears what is wrong with them.
func readFacts(fsys vfs.FS, dir string, out func(Finding)) *dirFacts {
	d := &dirFacts{}
	if _, err := fsys.Stat(filepath.Join(dir, checkpoint.CleanShutdownFile)); err == nil {
		d.clean = true
	}
	for _, f := range []struct {
		name  string
		into  *map[record.TopicPartition]record.Offset
		means string
	}{
		{checkpoint.RecoveryPointFile, &d.recovery, "A broker takes the directory for failed, or reads every log wholly at the next start"},
		{checkpoint.LogStartFile, &d.start, "A broker takes the directory for failed, or shows records again that had been deleted"},
		{checkpoint.HighWatermarkFile, &d.highWatermark, "A broker takes the directory for failed; high watermarks begin at the log start"},
		{checkpoint.CleanerOffsetsFile, &d.cleaner, "A broker takes the directory for failed, or compacts every log from its start"},
	} {
		path := filepath.Join(dir, f.name)
		offsets, err := checkpoint.ReadOffsets(fsys, path)
		*f.into = offsets
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			out(about(CheckpointFile, Error, path, err.Error(), f.means))
		}
		for tp, o := range offsets {
			if o < 0 {
				out(about(CheckpointRange, Error, path, fmt.Sprintf("offset %d of %v", o, tp), f.means))
			}
		}
		if f.name == checkpoint.RecoveryPointFile && err != nil {
			d.noRecovery = true
		}
	}
	return d
}

// of picks what concerns one partition directory.
func (d *dirFacts) of(name string) Facts {
	f := UnknownFacts()
	f.Clean = d.clean
	kind, err := parseDir(name)
	if err != nil {
		return f
	}
	f.Raft, f.Deleting = kind.raft, kind.deleting
	if kind.raft || kind.other {
		f.RecoveryPoint = 0
		return f
	}
	get := func(m map[record.TopicPartition]record.Offset) int64 {
		if o, ok := m[kind.tp]; ok {
			return int64(o)
		}
		return -1
	}
	f.RecoveryPoint, f.HighWatermark, f.LogStart = max(0, get(d.recovery)), get(d.highWatermark), get(d.start)
	_, f.Compacted = d.cleaner[kind.tp]
	return f
}

// dirKind is what a directory's name says.
type dirKind struct {
	tp record.TopicPartition
	// other: a stray or future replica, of which the checkpoints do not speak.
	raft, deleting, other bool
}

func parseDir(name string) (dirKind, error) {
	n, err := logdir.ParseName(name)
	if err != nil {
		return dirKind{}, err
	}
	return dirKind{tp: n.TopicPartition, raft: n.TopicPartition.Topic == metadataTopic && n.Kind == logdir.Current,
		deleting: n.Kind == logdir.Deleted, other: n.Kind != logdir.Current}, nil
}

// logDir verifies a whole log directory.
func (o *Options) logDir(ctx context.Context, sum *Summary, emit func(Finding)) error {
	entries, err := o.FS.ReadDir(o.Path)
	if err != nil {
		return err
	}
	dirs := 0
	for _, e := range entries {
		if _, err := parseDir(e.Name()); e.IsDir() && err == nil {
			dirs++
		}
	}
	_, err = ReadMeta(o.FS, o.Path)
	if errors.Is(err, fs.ErrNotExist) && dirs == 0 {
		return fmt.Errorf("%s: %w", o.Path, ErrNothing)
	}
	if err != nil {
		meta := filepath.Join(o.Path, checkpoint.MetaPropertiesFile)
		emit(about(MetaProperties, Error, meta, err.Error(), "A broker does not start: it does not know whose directory this is"))
	}
	var held []Finding
	sign := signature(o.FS, o.Path)
	facts := readFacts(o.FS, o.Path, func(f Finding) { held = append(held, f) })
	if len(held) > 0 && sign != signature(o.FS, o.Path) { // replaced meanwhile, on a file system without atomic renames
		held = nil
		if err := o.sleep(settle); err != nil {
			return err
		}
		facts = readFacts(o.FS, o.Path, func(f Finding) { held = append(held, f) })
	}
	for _, f := range held {
		emit(f)
	}
	for _, e := range entries {
		if err := o.dirEntry(ctx, e, facts, sum, emit); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) dirEntry(ctx context.Context, e fs.DirEntry, facts *dirFacts, sum *Summary, emit func(Finding)) error {
	path := filepath.Join(o.Path, e.Name())
	kind, err := parseDir(e.Name())
	switch {
	case !e.IsDir():
		if strings.HasSuffix(e.Name(), checkpoint.Suffix) {
			emit(about(Leftover, Note, path, "left by a write that was not finished", "Brokers overwrite it"))
		}
		return nil
	case e.Name() == remoteCache:
		return nil
	case err != nil:
		emit(about(DirectoryName, Error, path, err.Error(), "A broker does not start while this directory is here"))
		return nil
	case kind.deleting:
		emit(about(Leftover, Note, path, "a partition that is being deleted", "A broker removes it at the next start, or when its delay is over"))
	case kind.other && strings.HasSuffix(e.Name(), "-stray"):
		emit(about(StrayPartition, Note, path, "a partition that was set aside because nothing spoke of it", "It takes space until somebody removes it or brings it back"))
	}
	state, err := Partition(ctx, *o, path, facts.of(e.Name()), emit)
	sum.add(state)
	o.learned(path, state, err)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil && ctx.Err() == nil {
		emit(Unread(path, err))
		return nil
	}
	return err
}

// ReadMeta reads the meta.properties of a log directory. One that says nothing, such as an empty file, is an error too.
func ReadMeta(fsys vfs.FS, dir string) (checkpoint.MetaProperties, error) {
	path := filepath.Join(dir, checkpoint.MetaPropertiesFile)
	meta, err := checkpoint.ReadMetaProperties(fsys, path)
	if err == nil && meta.ClusterID == "" && meta.NodeID == checkpoint.NoNodeID {
		err = fmt.Errorf("%s: %w: it names neither cluster nor node", path, checkpoint.ErrFormat)
	}
	return meta, err
}

// Partitions lists the partition directories of a log directory, by name.
func Partitions(entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if _, err := parseDir(e.Name()); e.IsDir() && err == nil {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}
