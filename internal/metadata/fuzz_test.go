package metadata

import (
	"encoding/binary"
	"testing"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/vfs"
)

// FuzzReplay: whatever records a log holds, an error or a state that its own snapshot reproduces.
func FuzzReplay(f *testing.F) {
	var seed []byte
	for _, m := range append(everyKind(), begin(), new(stored.EndTransactionRecord), &stored.ClearElrRecord{}) {
		value := stored.AppendFrame(nil, m, recordVersion(m, MaxMetadataVersion))
		seed = append(binary.BigEndian.AppendUint16(seed, uint16(len(value))), value...)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, in []byte) {
		r := replay{fold: newFold(emptyImage("fuzz"))}
		r.fold.touched = &touched{}
		for len(in) >= 2 {
			n := min(int(binary.BigEndian.Uint16(in)), len(in)-2)
			m, _, err := stored.DecodeFrame(in[2 : 2+n])
			in = in[2+n:]
			if err != nil {
				return
			}
			if err := r.record(m); err != nil {
				return
			}
		}
		image, err := r.image()
		if err != nil {
			return
		}
		r.fold.touched.between(emptyImage("fuzz"), image)
		again := newFold(emptyImage("fuzz"))
		for m := range image.records() {
			back, _, err := stored.DecodeFrame(stored.AppendFrame(nil, m, m.HighestVersion()))
			if err != nil {
				t.Fatal(err)
			}
			if err := again.apply(back); err != nil {
				t.Fatalf("own snapshot: %v", err)
			}
		}
		copied, err := again.seal()
		if err != nil {
			t.Fatal(err)
		}
		if err := same(image, copied); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzReadSnapshot: a file that is no snapshot is an error, never a panic or a large allocation.
func FuzzReadSnapshot(f *testing.F) {
	n := newNode(f, vfs.NewMem())
	good := readFile(f, n.fs, "/data/__cluster_metadata-0/"+bootstrapID.String()+checkpointSuffix)
	f.Add(good)
	f.Add(good[:100])
	f.Fuzz(func(t *testing.T, in []byte) {
		mem := vfs.NewMem()
		writeFile(t, mem, "/s", in)
		fold := newFold(emptyImage(""))
		_ = readSnapshot(mem, "/s", func(controlRecord) error { return nil }, func(records []stored.Message) error {
			for _, m := range records {
				if err := fold.apply(m); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func FuzzQuorumState(f *testing.F) {
	f.Add([]byte(`{"leaderId":-1,"leaderEpoch":8,"votedId":2,"votedDirectoryId":"bXktZGlyLWlkLTAwMDAwMQ","data_version":1}`))
	f.Add([]byte(`{"clusterId":"","leaderId":3,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := parseQuorumState(in)
		if err != nil {
			return
		}
		text, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseQuorumState(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
