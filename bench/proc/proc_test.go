package proc

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	text := "31211 (a) b (c) S 1 31211 31211 0 -1 4194560 1180 2490 0 0 123 45 6 7 20 0 1 0 100 200 300 1844674407 1 1 0\n"
	if got, err := parseStat(text); err != nil || got != 1680*time.Millisecond {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1", "1 (x) S 1 2 3 4 5 6 7 8 9 10 a b 13"} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestParseStatus(t *testing.T) {
	resident, peak, private, err := parseStatus("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t  512 kB\n")
	if err != nil || resident != 1<<20 || peak != 2<<20 || private != 1<<19 {
		t.Errorf("%d, %d, %d, %v", resident, peak, private, err)
	}
	if _, _, _, err := parseStatus("VmRSS: 3 kB\n"); err == nil {
		t.Error("a process without VmHWM was accepted")
	}
}

func TestParseIO(t *testing.T) {
	read, written, err := parseIO("rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 3\n")
	if err != nil || read != 4096 || written != 8192 {
		t.Errorf("%d, %d, %v", read, written, err)
	}
	if _, _, err := parseIO("rchar: 1\n"); err == nil {
		t.Error("nothing was accepted")
	}
}

func TestParsePerf(t *testing.T) {
	if n, err := parsePerf("12345,,raw_syscalls:sys_enter,1000,100.00,,\n"); err != nil || n != 12345 {
		t.Errorf("%d, %v", n, err)
	}
	for _, bad := range []string{"", "<not counted>,,raw_syscalls:sys_enter,0,0.00,,\n", "Access to performance monitoring is limited\n"} {
		if _, err := parsePerf(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestOfThisProcess(t *testing.T) {
	u, err := Of(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("not on this system")
	}
	if err != nil || u.Resident <= 0 || u.Peak < u.Resident || u.Private <= 0 || u.Private > u.Resident {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := Of(-1); err == nil {
		t.Error("a process that is not there was accepted")
	}
}
