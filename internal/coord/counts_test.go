package coord

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
)

// What is told of shards follows them: one that is being read, with an operation that waits, one that serves, one that
// cannot be read.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuntime(t, Options[*counter]{})
		late := &slow{newPartition(t, nil), make(chan struct{})}
		r.Elected(0, late)
		r.Elected(1, newPartition(t, nil))
		r.Elected(2, offline{})
		synctest.Wait()
		if err := r.Submit(0, Op[*counter]{Patient: true, Run: func(*counter) Result { return None() }}); err != nil {
			t.Fatal(err)
		}
		if got, want := r.Counts(), (Counts{Active: 1, Loading: 1, Failed: 1, Queued: 1, Loads: 1}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		time.Sleep(3 * time.Second)
		close(late.hold)
		synctest.Wait()
		if got, want := r.Counts(), (Counts{Active: 2, Failed: 1, Loads: 2, LoadTime: 3 * time.Second, LongestLoad: 3 * time.Second}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		r.Resigned(1)
		r.Close()
		if got := r.Counts(); got.Active+got.Loading+got.Failed != 0 || got.Loads != 2 {
			t.Errorf("after the end: %+v", got)
		}
	})
}

// offline is a partition whose directory has failed.
type offline struct{}

func (offline) Append([]byte, storage.AppendOptions) (storage.AppendInfo, error) {
	return storage.AppendInfo{}, errors.New("offline")
}
func (offline) Log() *storage.Log               { return nil }
func (offline) LeaderEpoch() record.LeaderEpoch { return 0 }
