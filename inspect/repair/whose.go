package repair

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/samsalog/samsa/inspect/verify"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/storage/logdir"
)

// whose plans for a meta.properties that is lost or does not say whose directory this is. It is written again only where
// everything that tells of it agrees.
func (p *planner) whose() {
	if verify.IsPartition(p.o.FS, p.o.Dir) {
		return
	}
	if _, err := verify.ReadMeta(p.o.FS, p.o.Dir); err == nil {
		return
	}
	path := filepath.Join(p.o.Dir, checkpoint.MetaPropertiesFile)
	w := &witnesses{planner: p, held: map[record.UUID]string{}}
	w.hear()
	meta, why, err := w.verdict()
	if err != nil {
		for i := range p.plan.Findings {
			if f := &p.plan.Findings[i]; f.Rule == verify.MetaProperties {
				f.Means += ". It cannot be written again: " + err.Error()
			}
		}
		return
	}
	if p.known != nil {
		p.known.node, p.known.dir = meta.NodeID, meta.DirectoryID
	}
	p.mended[path] = true
	p.add("replace", path, -1, -1, why, func(j *journal) error {
		return j.replace(path, "whose directory this is", meta.Text(p.o.Now()))
	})
}

// claim is what somebody says: a value, and who says so.
type claim struct{ value, by string }

// claims are about one thing.
type claims []claim

func (c *claims) add(value, by string) {
	if value != "" {
		*c = append(*c, claim{value, by})
	}
}

func (c claims) String() string {
	return fmt.Sprintf("%s (%s)", c[0].value, c[0].by)
}

// agree fails if two say different things.
func (c claims) agree(about string) error {
	for i := range c {
		if c[i].value == c[0].value {
			continue
		}
		err := fmt.Errorf("the %s is %s (%s), and %s (%s)", about, c[0].value, c[0].by, c[i].value, c[i].by)
		if c[0].by == remainder || c[i].by == remainder {
			err = fmt.Errorf("%w; if the file is not of another node and only damaged there, move it away and repair again", err)
		}
		return err
	}
	return nil
}

// witnesses is what tells of a directory.
type witnesses struct {
	*planner
	cluster, node, dir claims
	// kraft: the cluster is none of ZooKeeper's; zookeeper: it is.
	kraft, zookeeper bool
	// held are the ids of the other directories.
	held map[record.UUID]string
}

// hear takes in what a person says, the other directories, and what is left of the file itself.
func (w *witnesses) hear() {
	w.cluster.add(w.o.ClusterID, "as given")
	if w.o.NodeID != nil {
		w.node.add(strconv.Itoa(int(*w.o.NodeID)), "as given")
	}
	for _, other := range w.o.Others {
		meta, err := verify.ReadMeta(w.o.FS, other)
		if err != nil || absolute(other) == absolute(w.o.Dir) {
			continue
		}
		by := "as " + other + " says"
		w.cluster.add(meta.ClusterID, by)
		if meta.NodeID != checkpoint.NoNodeID {
			w.node.add(strconv.Itoa(int(meta.NodeID)), by)
		}
		if !meta.DirectoryID.IsZero() {
			w.held[meta.DirectoryID] = other
		}
		w.kraft, w.zookeeper = w.kraft || meta.Version > 0, w.zookeeper || meta.Version == 0
	}
	w.kraft = w.kraft || w.known != nil
	w.remains()
}

// remains takes in the lines of the file that are whole. Only ids that look like Kafka's count: others may have been cut.
func (w *witnesses) remains() {
	b, err := readFile(w.o.FS, filepath.Join(w.o.Dir, checkpoint.MetaPropertiesFile))
	if err != nil || len(b) > mostRemains {
		return
	}
	whole := strings.LastIndexByte(string(b), '\n') + 1
	props, err := checkpoint.ParseProperties(b[:whole])
	if err != nil {
		return
	}
	if id, err := record.ParseUUID(props["cluster.id"]); err == nil {
		w.cluster.add(id.String(), remainder)
	}
	if n, err := strconv.ParseInt(props["node.id"], 10, 32); err == nil && n >= 0 {
		w.node.add(strconv.FormatInt(n, 10), remainder)
	}
	if id, err := record.ParseUUID(props["directory.id"]); err == nil && !id.IsReserved() {
		w.dir.add(id.String(), remainder)
	}
	w.kraft = w.kraft || props["version"] == "1"
}

// remainder is who says what the file still does.
const remainder = "as what is left of the file says"

// mostRemains bounds what is taken for the remains of a file of about 120 bytes.
const mostRemains = 64 << 10

// verdict is what meta.properties should hold, and why.
func (w *witnesses) verdict() (meta checkpoint.MetaProperties, why string, err error) {
	w.metadataNode()
	switch {
	case !w.kraft && !w.zookeeper:
		return meta, "", errors.New("neither a metadata log nor another directory of the node is known (--log-dirs); for directories that have none there is samsa adopt --from-logs")
	case len(w.cluster) == 0:
		return meta, "", errors.New("nothing tells the cluster id; it stands in the logs of clients, and can be given (--cluster-id)")
	case len(w.node) == 0:
		return meta, "", errors.New("nothing tells the node id; it is node.id in server.properties, and can be given (--node-id)")
	}
	if err := errors.Join(w.cluster.agree("cluster id"), w.node.agree("node id")); err != nil {
		return meta, "", err
	}
	node, err := strconv.ParseInt(w.node[0].value, 10, 32)
	if err != nil {
		return meta, "", err
	}
	if w.known != nil && len(w.known.Brokers)+len(w.known.Voters) > 0 && !w.known.has(int32(node)) {
		return meta, "", fmt.Errorf("the metadata log knows no node %v", w.node)
	}
	meta = checkpoint.MetaProperties{ClusterID: w.cluster[0].value, NodeID: int32(node), Version: 1}
	why = fmt.Sprintf("it is of node %v in cluster %v", w.node, w.cluster)
	if !w.kraft {
		meta.Version = 0
		return meta, why, nil
	}
	w.metadataDir(meta.NodeID)
	if err := w.dir.agree("directory id"); err != nil {
		return meta, "", err
	}
	if len(w.dir) == 0 {
		if err := w.needsID(meta.NodeID); err != nil {
			return meta, "", err
		}
		return meta, why + "; a broker gives it a new directory id, since nothing refers to the old one", nil
	}
	if meta.DirectoryID, err = record.ParseUUID(w.dir[0].value); err != nil {
		return meta, "", err
	}
	if other := w.held[meta.DirectoryID]; other != "" {
		return meta, "", fmt.Errorf("its directory id would be %v, which %s has", w.dir, other)
	}
	return meta, fmt.Sprintf("%s; its directory id is %v", why, w.dir), nil
}

// metadataNode asks the metadata log: there is only one node, or only one that has all partitions that are here.
func (w *witnesses) metadataNode() {
	if w.known == nil {
		return
	}
	var nodes []int32
	for n := range w.known.Brokers {
		nodes = append(nodes, n)
	}
	for n := range w.known.Voters {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 1 {
		w.node.add(strconv.Itoa(int(nodes[0])), "the only one in the metadata log")
		return
	}
	nodes = slices.DeleteFunc(nodes, func(n int32) bool {
		missing := false
		here := w.here(func(t *Topic, partition int32) {
			_, ok := t.at(partition, n)
			missing = missing || !ok
		})
		return here == 0 || missing
	})
	if len(nodes) == 1 {
		w.node.add(strconv.Itoa(int(nodes[0])), "the only one that has all these partitions")
	}
}

// has reports whether a node is registered, or votes.
func (k *known) has(node int32) bool {
	_, broker := k.Brokers[node]
	_, voter := k.Voters[node]
	return broker || voter
}

// here visits the partitions in this directory that the metadata log knows, and counts them.
func (w *witnesses) here(visit func(t *Topic, partition int32)) (n int) {
	for _, s := range w.states {
		name, err := logdir.ParseName(filepath.Base(absolute(s.List.Dir)))
		if err != nil || name.Kind != logdir.Current || s.Facts.Raft {
			continue
		}
		t := w.known.byName[name.TopicPartition.Topic]
		id, err := checkpoint.ReadPartitionMetadata(w.o.FS, filepath.Join(s.List.Dir, checkpoint.PartitionMetadataFile))
		if t == nil || err == nil && id != t.ID {
			continue
		}
		n++
		visit(t, name.TopicPartition.Partition)
	}
	return n
}

// metadataDir asks the metadata log for the id of this directory of a node: where it has the partitions that are here, or where
// it votes; if neither tells, the one that no other directory has.
func (w *witnesses) metadataDir(node int32) {
	if w.known == nil {
		return
	}
	if id := w.known.Voters[node]; !id.IsReserved() && exists(w.o.FS, filepath.Join(w.o.Dir, metadataDir)) {
		w.dir.add(id.String(), "in which the node votes")
	}
	votes := map[record.UUID]int{}
	w.here(func(t *Topic, partition int32) {
		if id, ok := t.at(partition, node); ok && !id.IsReserved() && w.held[id] == "" {
			votes[id]++
		}
	})
	for _, id := range slices.SortedFunc(maps.Keys(votes), func(a, b record.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		w.dir.add(id.String(), fmt.Sprintf("where the metadata log has %d of its partitions", votes[id]))
	}
	if len(w.dir) > 0 {
		return
	}
	left := w.missing(node)
	if len(left) == 1 {
		w.dir.add(left[0].String(), "the only registered one that no other directory has")
	}
}

// missing are the registered directories of a node that are not among the others.
func (w *witnesses) missing(node int32) []record.UUID {
	return slices.DeleteFunc(slices.Clone(w.known.Brokers[node]), func(id record.UUID) bool { return w.held[id] != "" })
}

// needsID fails if something may refer to the directory by its id.
func (w *witnesses) needsID(node int32) error {
	partitions := slices.ContainsFunc(w.states, func(s *verify.State) bool { return !s.Facts.Raft })
	switch {
	case !partitions:
		return nil
	case w.known == nil:
		return errors.New("only the metadata log tells the directory id; it lies in another directory of the node (--log-dirs, --metadata)")
	case len(w.known.Brokers[node]) == 0:
		return nil
	}
	return fmt.Errorf("the directory id may be any of %v; naming all directories of the node tells (--log-dirs)", w.missing(node))
}
