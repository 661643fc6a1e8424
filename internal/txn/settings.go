package txn

import "time"

// Settings are the broker settings that the transaction coordinator follows. They are read again for every request,
// so a change takes effect at once; the intervals at each turn.
type Settings struct {
	// MaxTimeout bounds the transaction timeout that a producer may ask for (transaction.max.timeout.ms).
	MaxTimeout time.Duration
	// AbortInterval is how often transactions that took too long are looked for
	// (transaction.abort.timed.out.transaction.cleanup.interval.ms).
	AbortInterval time.Duration
	// IDExpiration is how long an idle transactional id is remembered (transactional.id.expiration.ms), and
	// ExpiryInterval how often that is looked at (transaction.remove.expired.transaction.cleanup.interval.ms).
	IDExpiration, ExpiryInterval time.Duration
	// VerifyPartitions has partitions verified before clients of transaction version 1 append to them
	// (transaction.partition.verification.enable).
	VerifyPartitions bool
	// AddRetryMax bounds how long an implicit add waits for the transaction before it to end
	// (add.partitions.to.txn.retry.backoff.max.ms).
	AddRetryMax time.Duration
	// TxnVersion is the finalized level of transaction.version.
	TxnVersion int16
}

// DefaultSettings are Kafka's defaults.
func DefaultSettings() Settings {
	return Settings{
		MaxTimeout:       15 * time.Minute,
		AbortInterval:    10 * time.Second,
		IDExpiration:     7 * 24 * time.Hour,
		ExpiryInterval:   time.Hour,
		VerifyPartitions: true,
		AddRetryMax:      100 * time.Millisecond,
		TxnVersion:       2,
	}
}

// The levels of transaction.version.
const (
	txnVersionTags  = 1 // records of value version 1
	txnVersionBumps = 2 // every end raises the producer epoch
)
