package minimum

import (
	"crypto/rand"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchVersion is the only version of Fetch: the last that names topics, so that a reply is written by hand once.
const fetchVersion = 12

// maxPartitions bounds a topic: each partition is an open file.
const maxPartitions = 15_000

func apiVersions() kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	for _, k := range []struct{ key, lowest, highest int16 }{
		{0, 3, 12}, {1, fetchVersion, fetchVersion}, {2, 1, 7}, {3, 0, 12}, {18, 0, 3}, {19, 2, 7}, {20, 1, 5}, {22, 0, 4},
	} {
		one := kmsg.NewApiVersionsResponseApiKey()
		one.ApiKey, one.MinVersion, one.MaxVersion = k.key, k.lowest, k.highest
		r.ApiKeys = append(r.ApiKeys, one)
	}
	return r
}

func (s *Server) metadata(q *kmsg.MetadataRequest) kmsg.Response {
	r := kmsg.NewPtrMetadataResponse()
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 1, s.host, s.port
	r.Brokers, r.ControllerID = append(r.Brokers, b), 1
	r.ClusterID = kmsg.StringPtr("minimum")
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Topics == nil {
		for name, t := range s.mu.topics {
			r.Topics = append(r.Topics, describe(name, t))
		}
		return r
	}
	for _, wanted := range q.Topics {
		name := ""
		if wanted.Topic != nil {
			name = *wanted.Topic
		}
		r.Topics = append(r.Topics, describe(name, s.mu.topics[name]))
	}
	return r
}

func describe(name string, t *topic) kmsg.MetadataResponseTopic {
	d := kmsg.NewMetadataResponseTopic()
	d.Topic = kmsg.StringPtr(name)
	if t == nil {
		d.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return d
	}
	d.TopicID = t.id
	for i := range t.partitions {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.Replicas, p.ISR = int32(i), 1, []int32{1}, []int32{1}
		d.Partitions = append(d.Partitions, p)
	}
	return d
}

func (s *Server) createTopics(q *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	r := kmsg.NewPtrCreateTopicsResponse()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, wanted := range q.Topics {
		one := kmsg.NewCreateTopicsResponseTopic()
		one.Topic, one.NumPartitions, one.ReplicationFactor = wanted.Topic, wanted.NumPartitions, 1
		switch {
		case s.mu.topics[wanted.Topic] != nil:
			one.ErrorCode = kerr.TopicAlreadyExists.Code
		case wanted.NumPartitions > maxPartitions:
			one.ErrorCode = kerr.InvalidPartitions.Code
		default:
			t := &topic{}
			_, _ = rand.Read(t.id[:]) // never fails
			for range max(wanted.NumPartitions, 1) {
				p, err := s.newPartitionLocked()
				if err != nil {
					return nil, err
				}
				t.partitions = append(t.partitions, p)
			}
			s.mu.topics[wanted.Topic] = t
			one.TopicID = t.id
		}
		r.Topics = append(r.Topics, one)
	}
	return r, nil
}

func (s *Server) deleteTopics(q *kmsg.DeleteTopicsRequest) kmsg.Response {
	r := kmsg.NewPtrDeleteTopicsResponse()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range q.TopicNames {
		one := kmsg.NewDeleteTopicsResponseTopic()
		one.Topic = kmsg.StringPtr(name)
		if t := s.mu.topics[name]; t == nil {
			one.ErrorCode = kerr.UnknownTopicOrPartition.Code
		} else {
			for _, p := range t.partitions {
				p.remove()
			}
			delete(s.mu.topics, name)
		}
		r.Topics = append(r.Topics, one)
	}
	return r
}

func (s *Server) initProducerID() kmsg.Response {
	r := kmsg.NewPtrInitProducerIDResponse()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.nextProducer++
	r.ProducerID, r.ProducerEpoch = s.mu.nextProducer, 0
	return r
}

func (s *Server) listOffsets(q *kmsg.ListOffsetsRequest) kmsg.Response {
	r := kmsg.NewPtrListOffsetsResponse()
	for _, t := range q.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.Timestamp, rp.LeaderEpoch = p.Partition, -1, 0
			if part := s.partition(t.Topic, p.Partition); part == nil {
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			} else if p.Timestamp == -2 {
				rp.Offset = 0
			} else {
				rp.Offset = part.end()
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}
