package controller

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/metadata"
	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// Types of a change of a feature's level (KIP-584, KIP-778).
const (
	upgrade         int8 = 1
	safeDowngrade   int8 = 2
	unsafeDowngrade int8 = 3
)

// resultsUntil is the last version of UpdateFeatures whose answer has a line for each feature.
const resultsUntil = 1

// UpdateFeatures changes finalized levels of features, all that are named or none (FeatureControlManager). Going up to
// kraft.version 1 is a control batch of its own and precedes the records of the others.
func (c *Controller) UpdateFeatures(req *kmsg.UpdateFeaturesRequest) *kmsg.UpdateFeaturesResponse {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	u := &featureUpdate{c: c, kraft: c.o.Store.KRaftVersion(), wanted: map[string]kmsg.UpdateFeaturesRequestFeatureUpdate{}}
	for _, f := range req.FeatureUpdates {
		if req.Version == 0 {
			f.UpgradeType = upgrade
			if f.AllowDowngrade {
				f.UpgradeType = safeDowngrade
			}
		}
		u.wanted[f.Feature] = f // a feature named twice counts once, as it comes last
	}
	if err := u.run(req.ValidateOnly); err != nil {
		e := asError(err)
		text := "The update failed for all features, since one of them had an error: " + e.Message
		resp.ErrorCode, resp.ErrorMessage = e.code(), &text
		return resp
	}
	if req.Version > resultsUntil {
		return resp
	}
	noError := "NONE" // Kafka sends a text here, not null
	for _, f := range req.FeatureUpdates {
		r := kmsg.NewUpdateFeaturesResponseResult()
		r.Feature, r.ErrorMessage = f.Feature, &noError
		resp.Results = append(resp.Results, r)
	}
	return resp
}

// featureUpdate is one request on its way.
type featureUpdate struct {
	c *Controller
	// kraft is kraft.version before it.
	kraft  int16
	wanted map[string]kmsg.UpdateFeaturesRequestFeatureUpdate
}

func (u *featureUpdate) run(validateOnly bool) error {
	check := func(i *metadata.Image, _ record.Offset) ([]stored.Message, error) {
		records, err := u.records(i)
		if validateOnly {
			return nil, err
		}
		return records, err
	}
	if u.c.o.ReadOnly {
		return ReadOnly()
	}
	raise := u.kraft == 0 && u.wanted[metadata.KRaftVersionFeature].MaxVersionLevel > 0
	if raise && !validateOnly {
		if _, err := u.records(u.c.o.Store.Image()); err != nil {
			return err
		}
		if err := u.c.o.Store.UpgradeKRaftVersion(); err != nil {
			return err
		}
		u.kraft = u.c.o.Store.KRaftVersion()
	}
	_, err := u.c.update(check)
	return err
}

// records checks every change against the present levels and returns what makes them so.
func (u *featureUpdate) records(i *metadata.Image) ([]stored.Message, error) {
	proposed := maps.Clone(i.Features)
	for name, f := range u.wanted {
		proposed[name] = f.MaxVersionLevel
	}
	var out []stored.Message
	for _, name := range slices.Sorted(maps.Keys(u.wanted)) {
		f := u.wanted[name]
		now := i.Features[name]
		if name == metadata.KRaftVersionFeature {
			now = u.kraft
		}
		if err := u.check(i, f, now, proposed); err != nil {
			return nil, refuse(kerr.InvalidUpdateVersion, "Invalid update version %d for feature %s. %s", f.MaxVersionLevel, name, err)
		}
		if name == metadata.KRaftVersionFeature || f.MaxVersionLevel == now {
			continue
		}
		if name == metadata.ELRVersionFeature && now == 0 {
			out = append(out, u.minInsyncRecords(i)...)
		}
		out = append(out, &stored.FeatureLevelRecord{Name: name, FeatureLevel: f.MaxVersionLevel})
	}
	return out, nil
}

// check says why a level cannot follow the present one; nil: it can.
func (u *featureUpdate) check(i *metadata.Image, f kmsg.UpdateFeaturesRequestFeatureUpdate, now int16, proposed map[string]int16) error {
	level := f.MaxVersionLevel
	switch {
	case f.UpgradeType < upgrade || f.UpgradeType > unsafeDowngrade:
		return fmt.Errorf("the controller does not support upgrade type %d", f.UpgradeType)
	case level < 0:
		return fmt.Errorf("a feature version cannot be less than 0")
	}
	if err := u.supported(i, f.Feature, level); err != nil {
		return err
	}
	switch {
	case level < now && f.UpgradeType == upgrade:
		return fmt.Errorf("it is at %d: a downgrade has to be asked for as a safe or unsafe downgrade", now)
	case level > now && f.UpgradeType != upgrade:
		return fmt.Errorf("it is at %d: a higher version is no downgrade", now)
	case f.Feature == metadata.KRaftVersionFeature && level < now:
		return fmt.Errorf("this feature cannot be downgraded")
	case f.Feature == metadata.MetadataVersionFeature:
		return metadataDowngrade(f, now)
	}
	if need, least, missing := metadata.MissingDependency(f.Feature, level, proposed); missing {
		return fmt.Errorf("it depends on %s level %d", need, least)
	}
	return nil
}

// metadataDowngrade refuses what would lose records; Kafka 4 does so whatever the type of the downgrade.
func metadataDowngrade(f kmsg.UpdateFeaturesRequestFeatureUpdate, now int16) error {
	switch {
	case !metadata.MetadataLost(now, f.MaxVersionLevel):
		return nil
	case f.UpgradeType == unsafeDowngrade:
		return fmt.Errorf("unsafe metadata downgrade is not supported in this version")
	}
	return fmt.Errorf("refused, since metadata records of version %d might not survive it", now)
}

// supported checks the ranges of this node and of every registered broker. A feature that a broker does not name it
// supports at level 0 only.
func (u *featureUpdate) supported(i *metadata.Image, name string, level int16) error {
	if !slices.ContainsFunc(metadata.SupportedFeatures(), func(r metadata.FeatureRange) bool { return r.Name == name }) {
		return fmt.Errorf("there is no such feature")
	}
	if err := within("the local controller", metadata.SupportedFeatures(), name, level); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(i.Brokers)) {
		if err := within(fmt.Sprintf("broker %d", id), i.Brokers[id].Features, name, level); err != nil {
			return err
		}
	}
	return nil
}

func within(who string, ranges []metadata.FeatureRange, name string, level int16) error {
	for _, r := range ranges {
		if r.Name != name {
			continue
		}
		if level < r.Min || level > r.Max {
			return fmt.Errorf("%s only supports versions %d-%d", who, r.Min, r.Max)
		}
		return nil
	}
	if level == 0 {
		return nil
	}
	return fmt.Errorf("%s does not support this feature", who)
}

// minInsyncRecords is what eligible leader replicas need before they are switched on: one min.insync.replicas for the
// whole cluster, and none of single brokers.
func (u *featureUpdate) minInsyncRecords(i *metadata.Image) []stored.Message {
	var out []stored.Message
	all := metadata.ConfigResource{Type: metadata.BrokerResource}
	if _, set := i.Config(all)[minInsyncReplicas]; !set {
		value := fmt.Sprint(u.c.o.Config.Layers().Int(minInsyncReplicas))
		out = append(out, configRecord(all, minInsyncReplicas, &value))
	}
	for r := range i.ConfigResources() {
		if _, set := i.Config(r)[minInsyncReplicas]; set && r.Type == metadata.BrokerResource && r.Name != "" {
			out = append(out, configRecord(r, minInsyncReplicas, nil))
		}
	}
	return out
}
