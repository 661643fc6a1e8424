package repair

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
	"github.com/samsalog/samsa/storage/segment"
)

// stray brings a replica back that was set aside although the metadata log speaks of it: the topic with its id exists, has the
// partition, and has it on this node and in this directory. Where a broker has begun an empty log meanwhile, that goes; where
// both hold records, a person has to choose.
func (p *planner) stray(s *verify.State) {
	n, err := logdir.ParseName(filepath.Base(absolute(s.List.Dir)))
	if err != nil || n.Kind != logdir.Stray || p.known == nil {
		return
	}
	topic, found := p.strayTopic(s, n)
	if topic == nil || !p.known.belongs(topic, n.TopicPartition.Partition) {
		return
	}
	tp := record.TopicPartition{Topic: topic.Name, Partition: n.TopicPartition.Partition}
	target := filepath.Join(p.o.Dir, logdir.FormatName(tp, logdir.Current, record.UUID{}))
	current := p.state(target)
	switch {
	case current == nil && exists(p.o.FS, target): // it cannot be read
		return
	case current != nil && (current.Batches > 0 || !found):
		p.tell(verify.Finding{Severity: verify.Warning, Rule: verify.StrayPartition, File: s.List.Dir, Position: -1, Length: -1, FirstOffset: -1, LastOffset: -1,
			What:  fmt.Sprintf("%v was set aside, and %s is there again", tp, target),
			Means: "Both may hold records that the other lacks: compare them with samsa dump, and keep one"})
		return
	case current != nil && !p.clearOut(current):
		return
	}
	if !found {
		p.setID(s.List.Dir, topic.ID, "as the metadata log says")
	}
	from := s.List.Dir
	p.add("rename", from, -1, -1, fmt.Sprintf("it was set aside, but the metadata log has %v here: it becomes %s again", tp, filepath.Base(target)), func(j *journal) error {
		return j.rehome(from, target, "stray that belongs here")
	})
	p.ends[filepath.Base(target)] = s.LogEnd
}

// strayTopic is the topic that a stray belongs to; found: by the id in it. Without one the name counts, unless it may have been
// cut short.
func (p *planner) strayTopic(s *verify.State, n logdir.Name) (topic *Topic, found bool) {
	id, err := checkpoint.ReadPartitionMetadata(p.o.FS, filepath.Join(s.List.Dir, segment.PartitionMetadataFile))
	switch {
	case err == nil && !id.IsZero():
		return p.known.byID[id], true
	case !errors.Is(err, fs.ErrNotExist) && !s.BadMetadata, len(filepath.Base(s.List.Dir)) >= maxFileName:
		return nil, false
	}
	return p.known.byName[n.TopicPartition.Topic], false
}

// maxFileName is the longest name of a file; a name of a stray that is as long was cut.
const maxFileName = 255

func (p *planner) state(dir string) *verify.State {
	for _, s := range p.states {
		if s.List.Dir == dir {
			return s
		}
	}
	return nil
}

// clearOut plans taking an empty partition away, file by file, since brokers stumble over directories they do not know.
func (p *planner) clearOut(s *verify.State) bool {
	dir := s.List.Dir
	entries, err := p.o.FS.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.IsDir() {
			return false
		}
	}
	p.cleared[dir] = true
	p.plan.Actions = slices.DeleteFunc(p.plan.Actions, func(a Action) bool { return filepath.Dir(a.Path) == dir })
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		p.add("move", path, -1, -1, "of an empty log in the place of one that was set aside", func(j *journal) error { return j.move(path, "empty log") })
	}
	p.add("rmdir", dir, -1, -1, "it is empty then", func(j *journal) error { return j.rmdir(dir, "empty log") })
	return true
}
