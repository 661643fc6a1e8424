package samsa

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/samsalog/samsa/internal/metadata"
)

// What keeps a directory that Apache Kafka wrote from being served; nothing was changed in it. Compare with errors.Is.
var (
	// ErrLargerCluster: the directory is one of several of a cluster: partitions have replicas on other brokers, or the
	// controllers are elsewhere.
	ErrLargerCluster = errors.New("the directory belongs to a larger cluster")
	// ErrNoMetadata: there are partitions and no metadata log that tells what they are.
	ErrNoMetadata = errors.New("the directory has no cluster metadata")
)

// accept is asked before a byte is written, and refuses directories of which this node is not the whole cluster.
func (s *starting) accept(f *metadata.Found) error {
	if f.New {
		return s.acceptNew()
	}
	node := s.nodeID()
	if len(f.Image.Brokers) > 0 && f.Image.Brokers[node] == nil {
		return fmt.Errorf("%w: node %d never was a broker in it, only a controller; the brokers are %s", ErrLargerCluster, node, nodes(slices.Collect(maps.Keys(f.Image.Brokers))))
	}
	elsewhere, total := 0, 0
	others := map[int32]bool{}
	var example string
	for t := range f.Image.Topics.All() {
		for n, p := range t.Partitions {
			total++
			// Replicas that are only being added hold nothing that is not here.
			replicas := slices.DeleteFunc(slices.Clone(p.Replicas), func(id int32) bool { return slices.Contains(p.Adding, id) })
			if len(replicas) == 1 && replicas[0] == node {
				continue
			}
			if elsewhere++; elsewhere == 1 {
				example = fmt.Sprintf("%s-%d on %s", t.Name, n, nodes(p.Replicas))
			}
			for _, id := range p.Replicas {
				if id != node {
					others[id] = true
				}
			}
		}
	}
	if elsewhere == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d of %d partitions have replicas on other nodes than this one, which is %d (such as %s); the others are %s",
		ErrLargerCluster, elsewhere, total, node, example, nodes(slices.Collect(maps.Keys(others))))
}

// acceptNew refuses to begin a cluster over partitions: without metadata they would all be set aside as strays.
func (s *starting) acceptNew() error {
	found, err := s.b.dirs.Found()
	if err != nil || len(found) == 0 {
		return err
	}
	return fmt.Errorf("%w: it holds %d partitions (such as %s) but neither a metadata log nor a snapshot of one: it is that of a node that is only a broker, or __cluster_metadata-0 is lost or in another directory (metadata.log.dir)",
		ErrNoMetadata, len(found), found[0])
}

// nodes lists node ids for people.
func nodes(ids []int32) string {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = nodeName(id)
	}
	return strings.Join(out, ", ")
}

// largerCluster says of errors about the quorum what they mean to a person.
func largerCluster(err error) error {
	if errors.Is(err, metadata.ErrNotSoleVoter) {
		return fmt.Errorf("%w: %w", ErrLargerCluster, err)
	}
	return err
}
