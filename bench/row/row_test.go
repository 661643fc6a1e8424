package row

import (
	"strings"
	"testing"
	"time"

	"github.com/samsalog/samsa/bench/load"
	"github.com/samsalog/samsa/bench/proc"
)

func TestNamesOfTopicsAreLegal(t *testing.T) {
	turn := Turn{Bench: &Bench{Dir: "d", Scale: 1}, Row: "produce/1p/16KiB/acks=1/lz4", Peer: "samsa before", Round: 3}
	if got := turn.Topic(); got != "produce-1p-16KiB-acks-1-lz4-3" {
		t.Error(got)
	}
	if strings.Contains(turn.Own(), " ") {
		t.Error(turn.Own())
	}
}

func TestUsed(t *testing.T) {
	values := used(proc.Usage{CPU: time.Second, Written: 10}, proc.Usage{CPU: 3 * time.Second, Peak: 64 << 20, Written: 310, Read: 50}, load.Result{Records: 1000, Bytes: 100})
	want := map[string]float64{BrokerCPU: 2000, PeakMemory: 64, Written: 3, ReadBytes: 0.5}
	for _, v := range values {
		if want[v.Name] != v.Value {
			t.Errorf("%+v, wanted %v", v, want[v.Name])
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if kept := Without(values, BrokerCPU, Written, ReadBytes); len(kept) != 1 || kept[0].Name != PeakMemory {
		t.Errorf("%+v", kept)
	}
}

func TestRecordsScale(t *testing.T) {
	for scale, want := range map[float64]int64{1: 1000, 0.5: 500, 0: 200} {
		if got := (&Bench{Scale: scale}).Records(1000); got != want {
			t.Errorf("scale %v: %d", scale, got)
		}
	}
}
