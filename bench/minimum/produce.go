package minimum

import (
	"errors"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produce checks and writes; the records lie in the frame of the request.
func (s *Server) produce(q *kmsg.ProduceRequest) (kmsg.Response, error) {
	table := crc32.MakeTable(crc32.Castagnoli)
	r := kmsg.NewPtrProduceResponse()
	for _, t := range q.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.LogAppendTime, rp.LogStartOffset = p.Partition, -1, 0
			base, err := s.take(t.Topic, p.Partition, p.Records, table)
			var coded *kerr.Error
			if errors.As(err, &coded) {
				rp.ErrorCode = coded.Code
			} else if err != nil {
				return nil, err
			}
			rp.BaseOffset = base
			rt.Partitions = append(rt.Partitions, rp)
		}
		r.Topics = append(r.Topics, rt)
	}
	if q.Acks == 0 {
		return nil, nil
	}
	return r, nil
}

func (s *Server) take(topic string, number int32, records []byte, table *crc32.Table) (int64, error) {
	p := s.partition(topic, number)
	if p == nil {
		return -1, kerr.UnknownTopicOrPartition
	}
	if s.options.OnlyAnswers {
		return 0, nil
	}
	offsets, err := check(records, table)
	if err != nil {
		return -1, kerr.CorruptMessage
	}
	return p.append(records, offsets)
}
