package samsa

import (
	"time"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/console"
	"github.com/samsalog/samsa/internal/controller"
	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/replica"
	sharegroup "github.com/samsalog/samsa/internal/share"
	"github.com/samsalog/samsa/internal/share/deadletter"
	"github.com/samsalog/samsa/internal/wire"
)

// startShareLeader makes the leader of share partitions, which keeps their state with the share coordinator.
func (s *starting) startShareLeader() {
	b := s.b
	b.letters = s.deadLetters()
	b.share = sharegroup.NewManager(sharegroup.Options{
		Persister: b.shareState, DeadLetters: b.letters,
		Settings:    func(id string) sharegroup.Settings { return shareSettings(s.current(), b.store.Image(), id) },
		MaxSessions: s.current().Int("group.share.max.share.sessions"), Logger: s.room("share"),
	})
	s.undos = append(s.undos, b.share.Close)
}

// shareSettings are what holds for one share group.
func shareSettings(l config.Layers, i *metadata.Image, id string) sharegroup.Settings {
	own := i.Config(metadata.ConfigResource{Type: metadata.GroupResource, Name: id})
	return sharegroup.Settings{
		DeliveryLimit: l.GroupInt("share.delivery.count.limit", own),
		RecordLocks:   l.GroupInt("share.partition.max.record.locks", own),
		LockDuration:  time.Duration(l.GroupInt("share.record.lock.duration.ms", own)) * time.Millisecond,
		Reset:         l.GroupString("share.auto.offset.reset", own),
		Committed:     l.GroupString("share.isolation.level", own) == "read_committed",
		Renew:         l.GroupBool("share.renew.acknowledge.enable", own),
		DeadLetters:   i.Features[metadata.ShareVersionFeature] >= deadLettersVersion && l.GroupString("errors.deadletterqueue.topic.name", own) != "",
	}
}

// deadLettersVersion is the level of share.version from which there are dead-letter queues (KIP-1191).
const deadLettersVersion = 2

// deadLetters makes the writer of dead-letter queues.
func (s *starting) deadLetters() *deadletter.Writer {
	b := s.b
	return deadletter.NewWriter(deadletter.Options{
		Queue: func(group string) deadletter.Queue {
			l, own := s.current(), b.store.Image().Config(metadata.ConfigResource{Type: metadata.GroupResource, Name: group})
			return deadletter.Queue{
				Topic:  l.GroupString("errors.deadletterqueue.topic.name", own),
				Copy:   l.GroupBool("errors.deadletterqueue.copy.record.enable", own),
				Prefix: l.String("errors.deadletterqueue.topic.name.prefix"),
				Create: l.Bool("errors.deadletterqueue.auto.create.topics.enable"),
			}
		},
		Topic: func(name string) (deadletter.Topic, bool) {
			i := b.store.Image()
			t := i.Topics.ByName(name)
			if t == nil {
				return deadletter.Topic{}, false
			}
			own := i.Config(metadata.ConfigResource{Type: metadata.TopicResource, Name: name})
			return deadletter.Topic{Partitions: int32(len(t.Partitions)), Enabled: own["errors.deadletterqueue.group.enable"] == "true"}, true
		},
		Create: func(name string) error {
			_, err := s.ctl.CreateTopic(name, -1, -1, deadletter.CreatedConfigs())
			return err
		},
		Partition: func(topic string, partition int32) (*replica.Partition, error) {
			if s.readOnly {
				return nil, controller.ReadOnly()
			}
			return b.replicas.Partition(topic, partition)
		},
		Logger: s.room("share"),
	})
}

// clientGone ends what belongs to a connection.
func (b *Broker) clientGone(c *wire.Client) { b.share.Disconnected(c) }

// countShares is what the console shows of share groups.
func (b *Broker) countShares() console.ShareCounts {
	m, l := b.share.Metrics(), b.letters.Metrics()
	return console.ShareCounts{
		LettersWritten: l.Written, LettersLost: l.Lost, LetterRequests: l.Requests, LetterFailures: l.Failed,
		Sessions: m.Sessions, Partitions: m.Partitions, InFlight: m.InFlight, Acquired: m.Acquired, Expired: m.Expired, Acknowledged: m.Acknowledged,
	}
}
