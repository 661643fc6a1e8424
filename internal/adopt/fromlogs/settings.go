package fromlogs

import (
	"fmt"
	"strconv"
	"time"

	"github.com/samsalog/samsa/storage"
)

// settle works out a topic's settings from its partitions.
func (p *Plan) settle(t *Topic) {
	if s := internalSettings(t.Name); s != nil {
		t.set(s, "Kafka's own setting of this topic")
		return
	}
	compacted, evidence := t.compacted()
	t.policy(compacted, evidence)
	p.retention(t, compacted)
	if t.all(func(x *Partition) bool { return x.appendTime }) {
		t.add("message.timestamp.type", "LogAppendTime", "the newest batches carry the time of their appending")
	}
	largest := 0
	for _, x := range t.Partitions {
		largest = max(largest, x.largest)
	}
	if largest > storage.DefaultConfig().MaxMessageBytes {
		t.add("max.message.bytes", strconv.Itoa(largest), "there is a batch of that size")
	}
	if !compacted {
		p.segmentBytes(t)
	}
}

func (t *Topic) add(key, value, why string) { t.set(map[string]string{key: value}, why) }

// all reports whether something holds for all partitions that have batches, and there is one.
func (t *Topic) all(holds func(*Partition) bool) bool {
	some := false
	for _, x := range t.Partitions {
		if x.Dir == "" || x.oldest < 0 {
			continue
		}
		if !holds(x) {
			return false
		}
		some = true
	}
	return some
}

// compacted tells whether the cleaner has been at work, and how that shows.
func (t *Topic) compacted() (bool, string) {
	for _, x := range t.Partitions {
		if x.wasCleaned {
			return true, "the cleaner has a checkpoint of it"
		}
	}
	for _, x := range t.Partitions {
		if x.holes {
			return true, "offsets are missing, as compaction leaves them"
		}
	}
	return false, ""
}

func (t *Topic) policy(compacted bool, evidence string) {
	if !compacted {
		return
	}
	for _, x := range t.Partitions {
		if x.base > 0 { // compaction keeps the base of the first segment
			t.add("cleanup.policy", "compact,delete", evidence+", and its first segments were deleted")
			return
		}
	}
	t.add("cleanup.policy", "compact", evidence)
}

// retention keeps everything where the default would delete something (FLG-3).
func (p *Plan) retention(t *Topic, compacted bool) {
	for _, s := range t.Settings {
		if s.Key == "cleanup.policy" && s.Value == "compact" {
			return
		}
	}
	if compacted {
		t.add("retention.ms", "-1", "how long records were kept does not show")
		return
	}
	if p.o.Retention < 0 {
		return
	}
	before := p.o.Now().Add(-p.o.Retention)
	for _, x := range t.Partitions {
		// Messages of magic 0 have no time: their files' time would count.
		if x.oldest >= 0 && time.UnixMilli(x.oldestMs).Before(before) {
			t.add("retention.ms", "-1", fmt.Sprintf("records are older than %v, which would be deleted at once", p.o.Retention))
			return
		}
	}
}

// kafkaLeastSegment is the least segment.bytes that Kafka 4 takes.
const kafkaLeastSegment = 1 << 20

// segmentBytes tells the setting from where segments ended: none was longer, and none could have taken the next batch.
// Segments that time has ended contradict each other soon.
func (p *Plan) segmentBytes(t *Topic) {
	least, below, n := int64(0), int64(1)<<32, 0
	for _, x := range t.Partitions {
		for _, r := range x.rolled {
			least, below, n = max(least, r.size), min(below, r.size+r.next), n+1
		}
	}
	if n < 2 || least >= below || least < kafkaLeastSegment/2 {
		return
	}
	value := roundest(least, below-1)
	if value == int64(storage.DefaultConfig().SegmentBytes) || value > 1<<31-1 {
		return
	}
	if value < kafkaLeastSegment {
		p.note("%s: segments ended at %d bytes, less than Kafka 4 takes for segment.bytes", t.Name, value)
		return
	}
	t.add("segment.bytes", strconv.FormatInt(value, 10), fmt.Sprintf("all %d segments ended there", n))
}

// roundest is the number of a range that a person is likely to have chosen: whole MiB, else two digits and zeros, else whole
// KiB.
func roundest(least, most int64) int64 {
	units := []int64{1 << 30, 1 << 20}
	for ten := int64(1_000_000_000); ten > 0; ten /= 10 {
		if most/ten >= 10 {
			units = append(units, ten*10, ten)
			break
		}
	}
	for _, unit := range append(units, 1<<10) {
		if v := most / unit * unit; v >= least && v > 0 {
			return v
		}
	}
	return most
}
