package group

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// Groups are counted by protocol and state, wherever they stand, and no longer when their partition has gone.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, nil)
		a, b := h.modern("consumers", "a", "words"), h.modern("consumers", "b", "words")
		wantCode(t, "A joins", a.beat848(), nil)
		wantCode(t, "C joins", h.modern("alone", "c", "words").beat848(), nil)
		x := h.instance("streams", "x")
		wantCode(t, "X joins", x.beat1071(), nil)
		h.client("classic").enter("classic", nil)
		time.Sleep(2 * time.Second)
		wantCode(t, "B joins", b.beat848(), nil)
		got := h.States()
		for protocol, want := range map[string]map[string]int64{
			"consumer": {"Empty": 0, "Assigning": 0, "Reconciling": 1, "Stable": 1}, "share": {"Empty": 0, "Stable": 0},
			"streams": {"Empty": 0, "NotReady": 0, "Assigning": 0, "Reconciling": 0, "Stable": 1},
		} {
			if !reflect.DeepEqual(got[protocol], want) {
				t.Errorf("%s: %v, want %v", protocol, got[protocol], want)
			}
		}
		all := int64(0)
		for _, n := range got["classic"] {
			all += n
		}
		if all != 1 {
			t.Errorf("classic: %v", got["classic"])
		}
		for i := range int32(hostPartitions) {
			h.Resigned(i)
		}
		synctest.Wait()
		for protocol, states := range h.States() {
			for state, n := range states {
				if n != 0 {
					t.Errorf("after the end %d %s groups are %s", n, protocol, state)
				}
			}
		}
		h.Close()
	})
}

// A shard that cannot answer is left out after a while.
func TestStatesOfABusyShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := streamsHost(t, 4, nil)
		wantCode(t, "A joins", h.modern("g", "a", "words").beat848(), nil)
		hold := make(chan struct{})
		go h.on("g", func(*machine) { <-hold })
		synctest.Wait()
		start := time.Now()
		if got := h.States()["consumer"]; got["Stable"] != 0 || time.Since(start) != statesPatience {
			t.Errorf("%v after %v", got, time.Since(start))
		}
		close(hold)
		synctest.Wait()
		if got := h.States()["consumer"]; got["Stable"] != 1 {
			t.Errorf("later: %v", got)
		}
		h.Close()
	})
}
