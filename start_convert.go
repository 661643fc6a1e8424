package samsa

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/samsalog/samsa/internal/adopt/fromlogs"
	"github.com/samsalog/samsa/internal/adopt/solo"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/storage/checkpoint"
)

// convert makes what is served read-only something that a single node can serve: in the scratch directory it does what
// adopt --solo and adopt --from-logs do on disk.
func (s *starting) convert(ctx context.Context) error {
	if !s.readOnly {
		return nil
	}
	dirs := s.layers(nil).LogDirs()
	plan, err := solo.Make(ctx, solo.Options{FS: s.fs, Dirs: dirs, MetadataDir: s.metadataDir(), Controller: s.controllerAddress()})
	switch {
	case errors.Is(err, solo.ErrAlone):
		return nil
	case errors.Is(err, solo.ErrNoMetadata):
		return s.convertLogs(ctx, dirs)
	case errors.Is(err, metadata.ErrDamaged), errors.Is(err, metadata.ErrGap), errors.Is(err, metadata.ErrInvalidSnapshot):
		s.log.Warn("the metadata log cannot be read; metadata is made of what the partitions tell", "err", err)
		if err := s.fs.RemoveAll(filepath.Join(s.metadataDir(), metadata.TopicName+"-0")); err != nil {
			return err
		}
		return s.convertLogs(ctx, dirs)
	case err != nil:
		return err
	}
	s.log.Info("the directory belongs to a larger cluster: what is not here is empty or missing", "voters", nodes(plan.Voters), "brokers", nodes(plan.Brokers),
		"whole", len(plan.Whole), "behind", len(plan.Behind), "empty", len(plan.Empty), "missing_topics", plan.Removed)
	return plan.Apply()
}

// convertLogs makes metadata for directories that have none. One that was formatted and holds no partition needs none.
func (s *starting) convertLogs(ctx context.Context, dirs []string) error {
	plan, err := fromlogs.Make(ctx, fromlogs.Options{
		FS: s.fs, Dirs: dirs, MetadataDir: s.metadataDir(), NodeID: checkpoint.NoNodeID, Controller: s.controllerAddress(), Retention: -1,
	})
	switch {
	case errors.Is(err, fromlogs.ErrHasMetadata):
		return nil // formatted and never started
	case err != nil:
		return fmt.Errorf("metadata of what the partitions tell: %w", err)
	}
	s.log.Info("the directory has no cluster metadata: it is made of what the partitions tell", "topics", len(plan.Topics))
	for _, n := range plan.Notes {
		s.log.Info("made of what the partitions tell: " + n)
	}
	return plan.Apply()
}
