package samsa

import (
	"time"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/console"
	"github.com/samsalog/samsa/internal/metadata"
	sharegroup "github.com/samsalog/samsa/internal/share"
	"github.com/samsalog/samsa/internal/wire"
)

// startShareLeader makes the leader of share partitions, which keeps their state with the share coordinator.
func (s *starting) startShareLeader() {
	b := s.b
	b.share = sharegroup.NewManager(sharegroup.Options{
		Persister:   b.shareState,
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
	}
}

// clientGone ends what belongs to a connection.
func (b *Broker) clientGone(c *wire.Client) { b.share.Disconnected(c) }

// countShares is what the console shows of share groups.
func (b *Broker) countShares() console.ShareCounts {
	m := b.share.Metrics()
	return console.ShareCounts{
		Sessions: m.Sessions, Partitions: m.Partitions, InFlight: m.InFlight, Acquired: m.Acquired, Expired: m.Expired, Acknowledged: m.Acknowledged,
	}
}
