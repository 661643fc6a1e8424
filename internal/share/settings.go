package share

import (
	"strconv"
	"strings"
	"time"

	"github.com/samsalog/samsa/internal/share/window"
	"github.com/samsalog/samsa/storage"
)

// Settings are what holds for one group. They are asked for at each step, so that changes take effect at once.
type Settings struct {
	// DeliveryLimit is share.delivery.count.limit, RecordLocks share.partition.max.record.locks.
	DeliveryLimit, RecordLocks int
	// LockDuration is how long a member may keep a record (share.record.lock.duration.ms).
	LockDuration time.Duration
	// Reset says where the group begins on a partition (share.auto.offset.reset): latest, earliest or by_duration:….
	Reset string
	// Committed leaves out records of open and aborted transactions (share.isolation.level).
	Committed bool
	// Renew lets members ask for more time (share.renew.acknowledge.enable).
	Renew bool
	// DeadLetters says that the group has a dead-letter queue (errors.deadletterqueue.topic.name).
	DeadLetters bool
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{DeliveryLimit: 5, RecordLocks: 2000, LockDuration: 30 * time.Second, Reset: "latest", Renew: true}
}

func (s Settings) limits() window.Limits {
	return window.Limits{Deliveries: s.DeliveryLimit, Records: s.RecordLocks, DeadLetters: s.DeadLetters}
}

func (s Settings) isolation() storage.Isolation {
	if s.Committed {
		return storage.TxnCommitted
	}
	return storage.HighWatermark
}

// resetDuration is how far back a reset of by_duration:P… goes; false for other resets. The text was checked when it was
// set; what does not fit in a Duration is as long as one can be.
func resetDuration(reset string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(reset, "by_duration:")
	if !ok {
		return 0, false
	}
	date, clock, _ := strings.Cut(strings.TrimPrefix(strings.ToUpper(text), "P"), "T")
	total := 0.0
	if days, ok := strings.CutSuffix(date, "D"); ok {
		total += number(days) * (24 * time.Hour).Seconds()
	}
	for _, unit := range []struct {
		letter  string
		seconds float64
	}{{"H", 3600}, {"M", 60}, {"S", 1}} {
		if n, rest, ok := strings.Cut(clock, unit.letter); ok {
			total += number(n) * unit.seconds
			clock = rest
		}
	}
	const most = float64(1<<63-1) / float64(time.Second)
	if total >= most {
		return 1<<63 - 1, true
	}
	return time.Duration(total * float64(time.Second)), true
}

func number(s string) float64 {
	f, _ := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
	return f
}
