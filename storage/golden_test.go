package storage

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage/producer"
)

// batchesOf returns the batches in the `.log` files, in order.
func batchesOf(t testing.TB, files map[string][]byte) []record.Batch {
	t.Helper()
	var out []record.Batch
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		sc := record.NewScanner(files[name])
		for sc.Next() {
			out = append(out, slices.Clone(sc.Batch()))
		}
		if sc.Err() != nil || len(sc.Rest()) > 0 {
			t.Fatalf("%s: %v, %d bytes left", name, sc.Err(), len(sc.Rest()))
		}
	}
	return out
}

// sameFiles compares directories. Snapshots are compared by content, since Kafka writes their entries in hash order.
func sameFiles(t *testing.T, got, want map[string][]byte) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch {
		case got[name] == nil:
			t.Errorf("%s is missing", name)
		case strings.HasSuffix(name, producer.Suffix):
			g, err := producer.DecodeSnapshot(got[name])
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			w, err := producer.DecodeSnapshot(want[name])
			if err != nil {
				t.Errorf("Kafka's %s: %v", name, err)
			}
			if !maps.Equal(byID(g), byID(w)) {
				t.Errorf("%s: got %+v, Kafka wrote %+v", name, g, w)
			}
		case !bytes.Equal(got[name], want[name]):
			t.Errorf("%s: %d bytes differ from Kafka's %d", name, len(got[name]), len(want[name]))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s exists, Kafka has no such file", name)
		}
	}
}

func byID(list []producer.Entry) map[record.ProducerID]producer.Entry {
	m := map[record.ProducerID]producer.Entry{}
	for _, e := range list {
		m[e.ProducerID] = e
	}
	return m
}

// TestGoldenReplay appends what Kafka stored, batch by batch, and expects the very files that Kafka wrote: segments,
// indexes, transaction index, snapshots, leader epochs.
func TestGoldenReplay(t *testing.T) {
	for _, name := range []string{"rolled-0", "txn-0", "txn-1", "codec-none-0", "codec-gzip-1", "codec-snappy-0", "codec-lz4-0",
		"codec-zstd-1", "appendtime-0", "trimmed-0", "empty-0"} {
		for _, origin := range []Origin{Replication, RaftLeader} {
			t.Run(name+"/"+[]string{"", "", "replication", "raft"}[origin], func(t *testing.T) {
				want := kafkaLog(t, "clean/"+name)
				w := newWorld(t)
				w.config.SegmentBytes = 1 << 20
				if name == "rolled-0" {
					w.config.IndexIntervalBytes = 512
				}
				l := w.open(func(o *Options) { o.TopicID = topicIDOf(t, want) })
				for _, b := range batchesOf(t, want) {
					w.append(l, b, AppendOptions{Origin: origin, LeaderEpoch: b.LeaderEpoch()})
					l.SetHighWatermark(l.LogEndOffset())
					w.pass(0)
				}
				w.close(l)
				got := w.files("/data/t-0")
				// Every restart of the fixture's broker began a new epoch, also where no record followed.
				delete(got, "leader-epoch-checkpoint")
				delete(want, "leader-epoch-checkpoint")
				sameFiles(t, got, want)
			})
		}
	}
}

func topicIDOf(t testing.TB, files map[string][]byte) record.UUID {
	t.Helper()
	_, text, _ := strings.Cut(string(files["partition.metadata"]), "topic_id: ")
	id, err := record.ParseUUID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestGoldenRecovery recovers the directories of a killed broker and stops in order: what is there then is what Kafka's own
// recovery and stop left of them.
func TestGoldenRecovery(t *testing.T) {
	for _, test := range []struct {
		name          string
		recoveryPoint record.Offset
		logStart      record.Offset
	}{
		{"rolled-0", 514, 0}, {"rolled-0", 0, 0}, {"txn-0", 0, 0}, {"codec-lz4-0", 0, 0}, {"empty-0", 0, 0}, {"trimmed-0", 20, 20},
	} {
		t.Run(test.name+"/"+itoa(test.recoveryPoint), func(t *testing.T) {
			killed, want := kafkaLog(t, "killed/"+test.name), kafkaLog(t, "clean/"+test.name)
			w := newWorld(t)
			w.config.SegmentBytes = 1 << 20
			if test.name == "rolled-0" {
				w.config.IndexIntervalBytes = 512
			}
			w.install(killed)
			l := w.open(func(o *Options) { o.RecoveryPoint, o.LogStartOffset = test.recoveryPoint, test.logStart })
			if l.LogStartOffset() != test.logStart || l.RecoveryPoint() != test.recoveryPoint {
				t.Errorf("log start %d, recovery point %d", l.LogStartOffset(), l.RecoveryPoint())
			}
			for _, e := range w.events {
				if e.Kind != Recovering {
					t.Errorf("unexpected: %v", e)
				}
			}
			w.close(l)
			got := w.files("/data/t-0")
			delete(got, "leader-epoch-checkpoint")
			delete(want, "leader-epoch-checkpoint")
			sameFiles(t, got, want)
		})
	}
}
