package controller

import (
	"slices"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Registration is what a broker says of itself when it starts.
type Registration struct {
	Endpoints []metadata.Endpoint
	// LogDirs are the ids of its log directories, in any order.
	LogDirs []record.UUID
	// Features are the levels it supports; nil: all that are known.
	Features []metadata.FeatureRange
	Rack     *string
	// IncarnationID is new at each start; zero: one is drawn.
	IncarnationID record.UUID
}

// registration is a Registration on its way.
type registration struct {
	c *Controller
	r Registration
	// controller is the controller's own incarnation.
	controller record.UUID
	epoch      int64
	// work are the partitions whose leadership has not been looked at yet.
	work []partitionID
}

type partitionID struct {
	topic     record.UUID
	partition int32
}

// Register registers this node as broker, unfenced, and gives it the leadership of all partitions that it may
// lead, each in a new leader epoch (CTL-4, field report F-10). The broker epoch is the offset of the registration.
// Other brokers that the metadata still has are fenced: this process is the whole cluster.
func (c *Controller) Register(r Registration) (epoch int64, err error) {
	g := &registration{c: c, r: r}
	if g.controller, err = record.NewUUID(c.o.Rand); err != nil {
		return -1, err
	}
	if g.r.IncarnationID.IsZero() {
		if g.r.IncarnationID, err = record.NewUUID(c.o.Rand); err != nil {
			return -1, err
		}
	}
	if g.r.Features == nil {
		g.r.Features = metadata.SupportedFeatures()
	}
	if _, err := c.o.Store.Update(g.first); err != nil {
		return -1, err
	}
	for len(g.work) > 0 {
		if _, err := c.o.Store.Update(g.more); err != nil {
			return -1, err
		}
	}
	return g.epoch, nil
}

// first writes the registration and as many leaderships as go with it.
func (g *registration) first(i *metadata.Image, next record.Offset) ([]stored.Message, error) {
	g.epoch = int64(next)
	node := g.c.o.NodeID
	out := []stored.Message{g.broker()}
	if i.MetadataVersion() >= metadata.ControllersVersion {
		out = append(out, g.controllerRecord())
	}
	for id, b := range i.Brokers {
		if id != node && !b.Fenced {
			out = append(out, &stored.BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: b.Epoch, Fenced: 1})
		}
	}
	out = append(out, &stored.BrokerRegistrationChangeRecord{BrokerID: node, BrokerEpoch: g.epoch, Fenced: -1})
	for t := range i.Topics.All() {
		for n, p := range t.Partitions {
			if slices.Contains(p.Replicas, node) {
				g.work = append(g.work, partitionID{t.ID, int32(n)})
			}
		}
	}
	return append(out, g.leaderships(i)...), nil
}

func (g *registration) more(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
	return g.leaderships(i), nil
}

// leaderships takes the next part of the work. A batch stays far below its size limit.
func (g *registration) leaderships(i *metadata.Image) []stored.Message {
	n := min(len(g.work), maxRecordsPerOperation)
	var out []stored.Message
	for _, w := range g.work[:n] {
		t := i.Topics.ByID(w.topic)
		if t == nil || int(w.partition) >= len(t.Partitions) {
			continue
		}
		if m := g.c.elect(i, t, w.partition, g.r.LogDirs); m != nil {
			out = append(out, m)
		}
	}
	g.work = g.work[n:]
	return out
}

func (g *registration) broker() *stored.RegisterBrokerRecord {
	m := stored.NewRegisterBrokerRecord()
	m.BrokerID, m.BrokerEpoch, m.IncarnationID, m.Rack = g.c.o.NodeID, g.epoch, g.r.IncarnationID, g.r.Rack
	m.LogDirs = slices.SortedFunc(slices.Values(g.r.LogDirs), func(a, b record.UUID) int { return slices.Compare(a[:], b[:]) })
	m.CordonedLogDirs = []record.UUID{}
	for _, e := range g.r.Endpoints {
		m.EndPoints = append(m.EndPoints, stored.RegisterBrokerRecordBrokerEndpoint{
			Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol,
		})
	}
	for _, f := range g.r.Features {
		m.Features = append(m.Features, stored.RegisterBrokerRecordBrokerFeature{
			Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return &m
}

// controllerRecord registers the controller that is in this process too.
func (g *registration) controllerRecord() *stored.RegisterControllerRecord {
	e := g.c.o.Store.ControllerEndpoint()
	m := &stored.RegisterControllerRecord{
		ControllerID: g.c.o.NodeID, IncarnationID: g.controller,
		EndPoints: []stored.RegisterControllerRecordControllerEndpoint{{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol}},
	}
	for _, f := range g.r.Features {
		m.Features = append(m.Features, stored.RegisterControllerRecordControllerFeature{
			Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return m
}
