package consumer

import (
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/group/modern"
	"github.com/samsalog/samsa/record"
)

// Now is the situation in which a group is changed.
type Now struct {
	View  View
	Rules Rules
	// Ms is the time.
	Ms int64
	// Refresh says that topics may have changed since the group was looked at.
	Refresh bool
	// Client and Host are where the request comes from.
	Client, Host string
}

// Beaten is what a heartbeat led to.
type Beaten struct {
	Member *Member
	// Tell says that the answer holds the member's partitions.
	Tell bool
}

// Heartbeat takes the request of a member that joins (epoch 0) or stays. id is the member id, also where the request
// has none. The request was checked as far as that can be done without the group.
func (c *Change) Heartbeat(now Now, id string, req *kmsg.ConsumerGroupHeartbeatRequest) (Beaten, *kerr.Error) {
	if c.full(now.Rules, id) {
		return Beaten{}, kerr.GroupMaxSizeReached
	}
	owned := ownedIn(req)
	m, e := c.memberOf(id, req.InstanceID, req.MemberEpoch, owned)
	if e != nil {
		return Beaten{}, e
	}
	info := said(m.Info, req)
	info.ClientID, info.ClientHost = now.Client, now.Host
	if info.Regex != m.Regex && info.Regex != "" {
		if _, err := compile(info.Regex); err != nil {
			return Beaten{}, kerr.InvalidRegularExpression
		}
	}
	after := c.advance(now, m, info, owned)
	whole := req.MemberEpoch == modern.Join ||
		req.RebalanceTimeoutMillis != -1 && (req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil) && req.Topics != nil
	return Beaten{after, whole || !after.Assigned.equal(m.Assigned)}, nil
}

// full reports whether there is no room for a member.
func (c *Change) full(r Rules, id string) bool {
	return len(c.Group.Members) >= r.MaxSize && c.Group.Members[id] == nil
}

func ownedIn(req *kmsg.ConsumerGroupHeartbeatRequest) Owned {
	if req.Topics == nil {
		return nil
	}
	owned := Owned{}
	for _, t := range req.Topics {
		id := record.UUID(t.TopicID)
		owned[id] = append(owned[id], t.Partitions...)
	}
	return owned
}

// said is what a member says of itself: what is left out of a request stays as it was.
func said(info Info, req *kmsg.ConsumerGroupHeartbeatRequest) Info {
	if req.InstanceID != nil {
		info.InstanceID = req.InstanceID
	}
	if req.RackID != nil {
		info.RackID = req.RackID
	}
	if req.RebalanceTimeoutMillis != -1 {
		info.RebalanceTimeoutMs = req.RebalanceTimeoutMillis
	}
	if req.ServerAssignor != nil {
		info.ServerAssignor = req.ServerAssignor
	}
	if req.SubscribedTopicNames != nil {
		info.Topics = names(req.SubscribedTopicNames)
	}
	if req.SubscribedTopicRegex != nil {
		info.Regex = *req.SubscribedTopicRegex
	}
	info.Classic = nil
	return info
}

// memberOf finds the member that a heartbeat comes from, or makes it if it joins.
func (c *Change) memberOf(id string, instance *string, epoch int32, owned Owned) (*Member, *kerr.Error) {
	if instance != nil {
		return c.staticMemberOf(id, *instance, epoch, owned)
	}
	m := c.Group.Members[id]
	switch {
	case m != nil:
		return m, m.checkEpoch(epoch, owned)
	case epoch == modern.Join:
		return newMember(id), nil
	}
	return nil, kerr.UnknownMemberID
}

// staticMemberOf is memberOf for a static member: its place is that of its instance id. Whoever comes with another
// member id gets the place, if the one before has left it.
func (c *Change) staticMemberOf(id, instance string, epoch int32, owned Owned) (*Member, *kerr.Error) {
	m := c.Group.Static(instance)
	switch {
	case m == nil && epoch == modern.Join:
		if old := c.Group.Members[id]; old != nil { // it was dynamic, or has another instance id now
			return old, nil
		}
		return newMember(id), nil
	case m == nil:
		return nil, kerr.UnknownMemberID
	case m.ID == id:
		return m, m.checkEpoch(epoch, owned)
	case epoch != modern.Join:
		return nil, kerr.FencedInstanceID
	case m.Epoch != modern.LeaveStatic:
		return nil, kerr.UnreleasedInstanceID
	}
	return c.replace(m, id), nil
}

// replace gives the place of a static member to another member id.
func (c *Change) replace(old *Member, id string) *Member {
	target, hasTarget := c.Group.Targets[old.ID]
	c.removeMember(old.ID)
	next := *old
	next.ID, next.Epoch, next.PreviousEpoch = id, modern.Join, modern.Join
	c.writeInfo(&next)
	if hasTarget {
		c.writeTarget(id, target)
	}
	c.writeCurrent(&next)
	return c.Group.Members[id]
}

// checkEpoch fences a member that has missed something (CONSUMER-5).
func (m *Member) checkEpoch(epoch int32, owned Owned) *kerr.Error {
	if e := modern.CheckEpoch(epoch, m.Epoch, m.PreviousEpoch, owned.within(m.Assigned)); e != nil {
		return e
	}
	if m.State > Unreleased && (owned == nil || len(owned) > 0) { // of a version to come
		return kerr.FencedMemberEpoch
	}
	return nil
}

// advance takes over what a member says of itself, and takes the group and it as far as that leads.
func (c *Change) advance(now Now, m *Member, info Info, owned Owned) *Member {
	if c.Group.Members[m.ID] == nil || !info.equal(m.Info) {
		next := *m
		next.Info = info
		c.writeInfo(&next)
	}
	bump := !slices.Equal(info.Topics, m.Topics)
	if info.Regex != m.Regex {
		c.dropRegex(m.Regex)
		_, resolved := c.Group.Regexes[info.Regex]
		bump = bump || resolved || info.Regex == ""
	}
	switch {
	case bump:
		c.bump(now.View)
	case now.Refresh:
		c.Refresh(now.View)
	}
	if c.mayAssign(now.Rules, now.Ms) {
		c.assign(now.View, now.Rules, now.Ms)
	}
	return c.reconcile(now.View, c.Group.Members[m.ID], owned)
}

// dropRegex forgets what an expression matched when nobody subscribes by it any more.
func (c *Change) dropRegex(expression string) {
	if _, resolved := c.Group.Regexes[expression]; !resolved {
		return
	}
	if _, used := c.Group.expressions()[expression]; !used {
		c.removeRegex(expression)
	}
}

// compile reads a regular expression, which matches whole names.
func compile(expression string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expression); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + expression + `)\z`)
}

// Resolve looks up what the members' regular expressions match now. If that is something else than before, there is
// reason for a new assignment.
func (c *Change) Resolve(v View, nowMs int64) {
	changed := false
	for _, x := range sortedKeys(c.Group.expressions()) {
		old, known := c.Group.Regexes[x]
		topics := matching(v, x)
		if known && slices.Equal(topics, old.Topics) {
			continue
		}
		changed = changed || !slices.Equal(topics, old.Topics)
		c.writeRegex(x, Regex{Topics: topics, Version: v.Version, TimestampMs: nowMs})
	}
	if changed {
		c.bump(v)
	}
}

func matching(v View, expression string) []string {
	re, err := compile(expression)
	if err != nil || v.Topics == nil { // it was checked when it came; another version may have let it in
		return nil
	}
	var out []string
	for t := range v.Topics.All() {
		if re.MatchString(t.Name) {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
}
