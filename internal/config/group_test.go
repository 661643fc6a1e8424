package config

import "testing"

// A group's config that was set while the broker's bounds were wider counts as the bound.
func TestGroupConfigStaysWithinTheBoundsOfNow(t *testing.T) {
	own := map[string]string{"consumer.session.timeout.ms": "50000", "consumer.heartbeat.interval.ms": "6000"}
	for _, c := range []struct {
		cluster            map[string]string
		session, heartbeat int
	}{
		{nil, 50000, 6000},
		{map[string]string{"group.consumer.max.session.timeout.ms": "46000"}, 46000, 6000},
		{map[string]string{"group.consumer.min.session.timeout.ms": "55000", "group.consumer.session.timeout.ms": "56000", "group.consumer.min.heartbeat.interval.ms": "7000", "group.consumer.heartbeat.interval.ms": "8000"}, 55000, 7000},
	} {
		properties := map[string]string{"node.id": "1", "log.dirs": "/data"}
		for k, v := range c.cluster {
			properties[k] = v
		}
		static, _, err := Load(properties)
		if err != nil {
			t.Fatal(err)
		}
		l := Layers{Static: static, NodeID: 1}
		if got := l.GroupInt("consumer.session.timeout.ms", own); got != c.session {
			t.Errorf("%v: session timeout %d, want %d", c.cluster, got, c.session)
		}
		if got := l.GroupInt("consumer.heartbeat.interval.ms", own); got != c.heartbeat {
			t.Errorf("%v: heartbeat interval %d, want %d", c.cluster, got, c.heartbeat)
		}
	}
}

// Bounds of numbers of copies stand under other names, and hold when they are set and later.
func TestGroupConfigBoundsOfCopies(t *testing.T) {
	for _, c := range []struct {
		key, bound string
	}{
		{"streams.num.standby.replicas", "group.streams.max.standby.replicas"}, {"streams.num.warmup.replicas", "group.streams.max.warmup.replicas"},
	} {
		static, _, err := Load(map[string]string{"node.id": "1", "log.dirs": "/data", c.bound: "1"})
		if err != nil {
			t.Fatal(err)
		}
		l := Layers{Static: static, NodeID: 1}
		if got := l.GroupInt(c.key, map[string]string{c.key: "2"}); got != 1 {
			t.Errorf("%s is %d, want 1", c.key, got)
		}
		if err := ValidateGroup(l, map[string]string{c.key: "2"}); err == nil {
			t.Errorf("%s may be set beyond %s", c.key, c.bound)
		}
		if err := ValidateGroup(l, map[string]string{c.key: "1"}); err != nil {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}
