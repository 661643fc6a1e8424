package adopt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// verdict says what serve would do with the directories.
func (l *looker) verdict() {
	v := &l.r.Serve
	v.Refusals = l.refusals()
	v.Takes = len(v.Refusals) == 0
	l.notes(v)
	if v.Takes {
		l.changes(v)
	}
}

func (l *looker) refusals() (out []string) {
	for _, d := range l.r.Directories {
		if d.State == inUse {
			out = append(out, d.Path+" is in use: a broker holds its lock")
		}
	}
	out = append(out, l.r.disagreements()...)
	metadataDirs := 0
	for _, d := range l.r.Directories {
		if d.Metadata {
			metadataDirs++
		}
	}
	switch m := l.r.Metadata; {
	case l.r.Era == "zookeeper":
		out = append(out, "the directory is of ZooKeeper's time: its topics, settings and users were in ZooKeeper; adopt --from-logs makes metadata of what the files tell")
	case l.r.Era == "none":
		out = append(out, "the directory has no meta.properties; adopt --from-logs makes metadata of what the files tell")
	case metadataDirs > 1:
		out = append(out, "several of the directories hold a metadata log")
	case m.refusal != nil:
		out = append(out, m.refusal.Error())
	case m.found.New && len(l.r.Topics) > 0:
		out = append(out, fmt.Sprintf("%s holds neither a metadata log nor a snapshot of one, but there are partitions: it is that of a node that is only a broker, or the metadata log is lost or in another directory; adopt --solo or --from-logs makes a single-node cluster of it", l.MetadataDir))
	case m.found.New:
	case l.migrated():
		if out = append(out, l.elsewhere()...); len(out) == 0 {
			out = append(out, l.MetadataDir+"/meta.properties is of version 0, as a broker that was migrated from ZooKeeper has it, and such a broker is no single node")
		}
	case len(m.Brokers) > 0 && m.image.Brokers[l.r.NodeID] == nil:
		out = append(out, fmt.Sprintf("node %d was never a broker of the cluster, only a controller", l.r.NodeID))
	default:
		out = append(out, l.elsewhere()...)
	}
	return out
}

// migrated reports whether the metadata directory is that of a broker which ZooKeeper was taken from.
func (l *looker) migrated() bool {
	return slices.ContainsFunc(l.r.Directories, func(d *Directory) bool { return d.Path == l.MetadataDir && d.Version == 0 })
}

// elsewhere says whether the node is a member of a larger cluster.
func (l *looker) elsewhere() (out []string) {
	var others []int32
	n, example := 0, ""
	for _, t := range l.r.Topics {
		for _, p := range t.Partitions {
			if slices.Equal(p.Replicas, []int32{l.r.NodeID}) {
				continue
			}
			if n++; example == "" {
				example = fmt.Sprintf("%s-%d on %v", t.Name, p.Partition, p.Replicas)
			}
			for _, id := range p.Replicas {
				if id != l.r.NodeID && !slices.Contains(others, id) {
					others = append(others, id)
				}
			}
		}
	}
	if n > 0 {
		slices.Sort(others)
		out = append(out, fmt.Sprintf("%s with replicas on other nodes %v (%s): it is a member of a larger cluster; adopt --solo makes a single-node cluster of it", count(n, "partition"), others, example))
	}
	return out
}

// count renders n with the right form of the noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (l *looker) notes(v *Verdict) {
	note := func(format string, args ...any) { v.Notes = append(v.Notes, fmt.Sprintf(format, args...)) }
	if len(l.Dirs) > 1 && l.Dirs[0] != l.MetadataDir {
		note("the metadata log is not in the first directory: --set metadata.log.dir=%s", l.MetadataDir)
	}
	for _, d := range l.r.Directories {
		for _, e := range d.checkpointErrors {
			note("%s: it is taken as empty, and every log of the directory is recovered wholly", e)
		}
		for _, f := range d.Foreign {
			if f == lostFound {
				note("%s: an Apache Kafka does not start on a directory with it; Samsa passes over it", filepath.Join(d.Path, f))
			} else {
				note("%s is no partition's directory: Samsa leaves it alone, an Apache Kafka may refuse to start", filepath.Join(d.Path, f))
			}
		}
	}
	if m := l.r.Metadata; m != nil {
		for _, k := range m.Kept {
			shown := "admin clients can describe them and change them"
			if k.Hidden {
				shown = "admin clients are answered as by a Kafka that has no authorizer and no delegation tokens"
			}
			note("%s (%d) are kept in the metadata and its snapshots, and not acted on; %s", k.What, k.Count, shown)
		}
	}
	old, tiered := 0, 0
	for _, t := range l.r.Topics {
		if t.Configs["remote.storage.enable"] == "true" {
			tiered++
		}
		for _, p := range t.Partitions {
			if p.Magic >= 0 && p.Magic < 2 {
				old++
			}
		}
	}
	if tiered > 0 {
		note("%s with tiered storage: what is in remote storage cannot be read here; the rest is served", count(tiered, "topic"))
	}
	if old > 0 {
		note("%s with messages of formats before 0.11 (magic 0 or 1), which are served as Kafka 4 serves them", count(old, "partition"))
	}
	for _, e := range l.r.Unread {
		note("could not be read: %s", e)
	}
}

// changes says what becomes different on disk when serve takes the directories.
func (l *looker) changes(v *Verdict) {
	change := func(format string, args ...any) { v.Changes = append(v.Changes, fmt.Sprintf(format, args...)) }
	m := l.r.Metadata
	if m.TornBytes > 0 {
		change("metadata log: %d bytes behind the last whole batch are cut off", m.TornBytes)
	}
	change("metadata log: leader epoch %d begins (a LEADER_CHANGE record and quorum-state), broker and controller register", max(0, m.LeaderEpoch)+1)
	if m.Bootstrap {
		change("metadata log: the records of formatting are written")
	}
	if m.OpenTransaction {
		change("metadata log: the transaction of metadata that was left open is aborted")
	}
	partitions, missing, recover, open := 0, 0, 0, 0
	for _, t := range l.r.Topics {
		for _, p := range t.Partitions {
			partitions++
			if p.Missing {
				missing++
			}
			if len(p.Open) > 0 {
				open++
			}
		}
	}
	for _, d := range l.r.Directories {
		switch {
		case d.State == killed:
			recover += d.Partitions
		case d.State == clean:
			change("%s: the marker of the orderly stop is removed, as at every start", d.Path)
		}
		if d.DirectoryID == "" {
			change("%s: a directory id is added to meta.properties", d.Path)
		}
		if d.Version == 0 {
			change("%s: its meta.properties of ZooKeeper's time becomes one of version 1, as that of %s is", d.Path, l.MetadataDir)
		}
	}
	if partitions > 0 {
		change("metadata log: a new leader epoch for each of %s, which goes into leader-epoch-checkpoint too", count(partitions, "partition"))
	}
	if missing > 0 {
		change("%s missing that the metadata expects: created empty", count(missing, "partition"))
	}
	if recover > 0 {
		change("recovery of %s, since the last broker did not stop in order: segments from the recovery point on are read, their indexes and a producer snapshot are made anew", count(recover, "partition"))
	}
	l.leftovers(change)
	if open > 0 {
		change("open transactions in %s end: their producers commit or abort them, or they are aborted at their timeout", count(open, "partition"))
	}
	change("from then on what a broker does: appends, checkpoints, snapshots of the metadata, retention and compaction by the topics' settings")
	v.Stays = []string{
		"cluster id, node id, directory ids, topic ids, settings, finalized features, producer ids and epochs, groups with their offsets",
		"segments below the recovery point, except where retention or compaction takes them, as Kafka would",
		"every name and format: an Apache Kafka starts on the directory again",
	}
	if m.Quorum == "static" {
		v.Stays = append(v.Stays, "the static quorum (kraft.version 0): an Apache Kafka needs its controller.quorum.voters as before")
	}
}

func (l *looker) leftovers(change func(string, ...any)) {
	torn, deleted, cleaned, swap := 0, 0, 0, 0
	for _, t := range l.r.Topics {
		for _, p := range t.Partitions {
			if p.TornBytes > 0 {
				torn++
			}
			deleted += len(p.Deleted)
			cleaned += len(p.Cleaned)
			swap += len(p.Swap)
		}
	}
	if torn > 0 {
		change("%s cut at the last whole batch", count(torn, "partition"))
	}
	if deleted > 0 {
		change("%s that were to be unlinked after a delay: unlinked", count(deleted, "file"))
	}
	if cleaned > 0 {
		change("%s of a compaction that did not finish: removed, it begins again", count(cleaned, "file"))
	}
	if swap > 0 {
		change("%s of a compaction that had finished: swapped in", count(swap, "file"))
	}
	for _, a := range l.r.Aside {
		if !strings.HasPrefix(a.Fate, "left") {
			change("%s (%s): %s", a.Path, a.Kind, a.Fate)
		}
	}
}
