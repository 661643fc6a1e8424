package handler

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/replica"
	"github.com/samsalog/samsa/record"
	"github.com/samsalog/samsa/storage"
	"github.com/samsalog/samsa/storage/producer"
)

// codes is the table from what the rooms below answer to Kafka's codes. The first row that an error matches counts.
func codes() []codeRow {
	return []codeRow{
		{replica.ErrUnknownPartition, kerr.UnknownTopicOrPartition},
		{replica.ErrNotLeader, kerr.NotLeaderForPartition},
		{replica.ErrOffline, kerr.KafkaStorageError},
		{replica.ErrFencedLeaderEpoch, kerr.FencedLeaderEpoch},
		{replica.ErrUnknownLeaderEpoch, kerr.UnknownLeaderEpoch},
		{replica.ErrNotEnoughReplicas, kerr.NotEnoughReplicas},
		{replica.ErrPolicy, kerr.PolicyViolation},

		{storage.ErrOffsetOutOfRange, kerr.OffsetOutOfRange},
		{storage.ErrMessageTooLarge, kerr.MessageTooLarge},
		{storage.ErrRecordListTooLarge, kerr.RecordListTooLarge},
		{storage.ErrInconsistentTopicID, kerr.InconsistentTopicID},
		// A log is closed when its topic is deleted or the node stops: the client asks for the leader again.
		{storage.ErrClosed, kerr.NotLeaderForPartition},
		{storage.ErrStorage, kerr.KafkaStorageError},

		{producer.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber},
		{producer.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch},
		{producer.ErrInvalidTxnState, kerr.InvalidTxnState},
		{producer.ErrCoordinatorFenced, kerr.TransactionCoordinatorFenced},

		{record.ErrInvalidTimestamp, kerr.InvalidTimestamp},
		{record.ErrInvalidRecord, kerr.InvalidRecord},
		{record.ErrCorruptBatch, kerr.CorruptMessage},
		// Apache Kafka answers a payload that does not decompress, and codecs that do not exist, with -1.
		{record.ErrDecompress, unknownServerError},
		{record.ErrUnsupportedCodec, unknownServerError},
	}
}

type codeRow struct {
	err  error
	code *kerr.Error
}

// unknownServerError is code -1.
var unknownServerError = kerr.UnknownServerError

// code returns Kafka's code of an error: 0 for nil, that of a *kerr.Error inside it, else what the table says, else
// UNKNOWN_SERVER_ERROR.
func code(err error) int16 {
	if err == nil {
		return 0
	}
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Code
	}
	for _, row := range codes() {
		if errors.Is(err, row.err) {
			return row.code.Code
		}
	}
	return unknownServerError.Code
}
