package metadata

import (
	"maps"

	"github.com/samsalog/samsa/internal/stored"
)

// node applies records about brokers and controllers.
func (f *fold) node(m stored.Message) (known bool, err error) {
	switch m := m.(type) {
	case *stored.RegisterBrokerRecord:
		f.setBroker(brokerOf(m))
	case *stored.UnregisterBrokerRecord:
		if _, err := f.broker(m, m.BrokerID, m.BrokerEpoch); err != nil {
			return true, err
		}
		f.setBrokers(func(brokers map[int32]*Broker) { delete(brokers, m.BrokerID) })
	case *stored.FenceBrokerRecord:
		return true, f.changeBroker(m, m.ID, m.Epoch, func(b *Broker) { b.Fenced = true })
	case *stored.UnfenceBrokerRecord:
		return true, f.changeBroker(m, m.ID, m.Epoch, func(b *Broker) { b.Fenced = false })
	case *stored.BrokerRegistrationChangeRecord:
		return true, f.changeBroker(m, m.BrokerID, m.BrokerEpoch, func(b *Broker) { b.change(m) })
	case *stored.RegisterControllerRecord:
		f.setControllers(func(c map[int32]*stored.RegisterControllerRecord) { c[m.ControllerID] = m })
	case *stored.UnregisterControllerRecord:
		f.setControllers(func(c map[int32]*stored.RegisterControllerRecord) { delete(c, m.ControllerID) })
	default:
		return false, nil
	}
	return true, nil
}

func brokerOf(m *stored.RegisterBrokerRecord) *Broker {
	b := &Broker{
		ID: m.BrokerID, Epoch: m.BrokerEpoch, IncarnationID: m.IncarnationID, Rack: m.Rack, Fenced: m.Fenced,
		InControlledShutdown: m.InControlledShutdown, LogDirs: m.LogDirs, CordonedLogDirs: m.CordonedLogDirs,
	}
	for _, e := range m.EndPoints {
		b.Endpoints = append(b.Endpoints, Endpoint{e.Name, e.Host, e.Port, e.SecurityProtocol})
	}
	for _, r := range m.Features {
		b.Features = append(b.Features, FeatureRange{r.Name, r.MinSupportedVersion, r.MaxSupportedVersion})
	}
	return b
}

// change applies what a change record carries: 1 sets, -1 clears, 0 leaves.
func (b *Broker) change(m *stored.BrokerRegistrationChangeRecord) {
	switch m.Fenced {
	case 1:
		b.Fenced = true
	case -1:
		b.Fenced = false
	}
	if m.InControlledShutdown == 1 {
		b.InControlledShutdown = true
	}
	if len(m.LogDirs) > 0 {
		b.LogDirs = m.LogDirs
	}
	if m.CordonedLogDirs != nil {
		b.CordonedLogDirs = m.CordonedLogDirs
	}
}

// broker finds the registration that a record speaks of.
func (f *fold) broker(m stored.Message, id int32, epoch int64) (*Broker, error) {
	b := f.img.Brokers[id]
	switch {
	case b == nil:
		return nil, invalid(m, "broker %d is not registered", id)
	case b.Epoch != epoch:
		return nil, invalid(m, "broker %d is registered with epoch %d, the record says %d", id, b.Epoch, epoch)
	}
	return b, nil
}

func (f *fold) changeBroker(m stored.Message, id int32, epoch int64, change func(*Broker)) error {
	b, err := f.broker(m, id, epoch)
	if err != nil {
		return err
	}
	next := *b
	change(&next)
	f.setBroker(&next)
	return nil
}

func (f *fold) setBroker(b *Broker) {
	f.setBrokers(func(brokers map[int32]*Broker) { brokers[b.ID] = b })
}

func (f *fold) setBrokers(change func(map[int32]*Broker)) {
	if f.touched != nil {
		f.touched.brokers = true
	}
	next := maps.Clone(f.img.Brokers)
	if next == nil {
		next = map[int32]*Broker{}
	}
	change(next)
	f.img.Brokers = next
}

func (f *fold) setControllers(change func(map[int32]*stored.RegisterControllerRecord)) {
	next := maps.Clone(f.img.controllers)
	if next == nil {
		next = map[int32]*stored.RegisterControllerRecord{}
	}
	change(next)
	f.img.controllers = next
}
