package handler

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
)

// alter sends one incremental change "op key=value" and returns the code.
func (n *configNode) alter(kind int8, name string, validateOnly bool, ops ...string) int16 {
	n.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version, req.ValidateOnly = 1, validateOnly
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceType(kind), name
	for _, op := range ops {
		verb, rest, _ := strings.Cut(op, " ")
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		key, value, has := strings.Cut(rest, "=")
		c.Name, c.Op = key, kmsg.IncrementalAlterConfigOp(slices.Index([]string{"set", "delete", "append", "subtract"}, verb))
		if has {
			c.Value = &value
		}
		res.Configs = append(res.Configs, c)
	}
	req.Resources = append(req.Resources, res)
	return n.ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode
}

// config returns the described value and source of a key.
func (n *configNode) config(kind int8, name, key string) (string, config.Source) {
	n.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = 4
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName, res.ConfigNames = kmsg.ConfigResourceType(kind), name, []string{key}
	req.Resources = append(req.Resources, res)
	r := n.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0]
	if r.ErrorCode != 0 || len(r.Configs) != 1 || r.Configs[0].Value == nil {
		n.t.Fatalf("%s of %s: %+v", key, name, r)
	}
	return *r.Configs[0].Value, config.Source(r.Configs[0].Source)
}

func (n *configNode) stored(kind int8, name string) map[string]string {
	return n.store.Image().Config(metadata.ConfigResource{Type: kind, Name: name})
}

const (
	topicKind   = metadata.TopicResource
	brokerKind  = metadata.BrokerResource
	loggerKind  = metadata.BrokerLoggerResource
	metricsKind = metadata.ClientMetricsResource
	groupKind   = metadata.GroupResource
)

// T-09: a topic's retention outlives every change of the broker's, through the APIs.
func TestT09ThroughTheAPIs(t *testing.T) {
	n := newConfigNode(t)
	n.topic("t", "retention.ms=-1", "cleanup.policy=compact")
	for _, key := range []string{"log.retention.hours", "log.retention.minutes"} {
		if c := n.alter(brokerKind, "", false, "set "+key+"=1"); c != kerr.InvalidRequest.Code {
			t.Errorf("%s: code %d", key, c)
		}
	}
	for _, who := range []string{"", "1"} {
		if c := n.alter(brokerKind, who, false, "set log.retention.ms=3600000", "set log.cleanup.policy=delete"); c != 0 {
			t.Errorf("%q: code %d", who, c)
		}
	}
	if v, s := n.config(topicKind, "t", "retention.ms"); v != "-1" || s != config.SourceTopic {
		t.Errorf("retention.ms %s from %d", v, s)
	}
	if v, s := n.config(topicKind, "t", "cleanup.policy"); v != "compact" || s != config.SourceTopic {
		t.Errorf("cleanup.policy %s from %d", v, s)
	}
	l := n.h.deps.Config()
	if c := l.TopicConfig(n.stored(topicKind, "t")); c.RetentionMs != -1 || !c.CleanupCompact || c.CleanupDelete {
		t.Errorf("the log would go by %+v", c)
	}
	if c := l.TopicConfig(nil); c.RetentionMs != 3600000 {
		t.Errorf("other topics would keep records for %d ms", c.RetentionMs)
	}
}

// T-16: what Kafka accepts is accepted, what it refuses is refused with its code, and nothing of a refusal is kept.
func TestT16AlterConfigsTable(t *testing.T) {
	n := newConfigNode(t)
	n.topic("t", "segment.ms=100000")
	for _, c := range []struct {
		op   string
		code int16
	}{
		{"set retention.ms=1", 0},
		{"set retention.ms=-2", kerr.InvalidConfig.Code},
		{"set segment.bytes=100", kerr.InvalidConfig.Code},
		{"set retention.bytes=1", 0},
		{"set message.format.version=3.0", kerr.InvalidConfig.Code},
		{"set remote.storage.enable=true", kerr.InvalidConfig.Code},
		{"set cleanup.policy=", 0},
		{"set cleanup.policy=compact,compact", 0},
		{"append cleanup.policy=", kerr.InvalidConfig.Code},
		{"subtract no.such=1", kerr.InvalidConfig.Code},
	} {
		before := maps.Clone(n.stored(topicKind, "t"))
		if code := n.alter(topicKind, "t", false, c.op, "set flush.ms=7"); code != c.code {
			t.Errorf("%s: code %d, want %d", c.op, code, c.code)
		}
		if after := n.stored(topicKind, "t"); c.code != 0 && !maps.Equal(before, after) {
			t.Errorf("%s: refused, and %v is stored", c.op, after)
		}
	}
}

// all keys with default, type, source, synonyms and explanation, documentation only on demand.
func TestA02DescribeConfigsIsComplete(t *testing.T) {
	n := newConfigNode(t)
	n.topic("t")
	for kind, want := range map[int8]int{topicKind: 37, brokerKind: 350, groupKind: 21, metricsKind: 3} {
		name := map[int8]string{topicKind: "t", brokerKind: "1", groupKind: "g", metricsKind: "m"}[kind]
		for version := range int16(5) {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
			res := kmsg.NewDescribeConfigsRequestResource()
			res.ResourceType, res.ResourceName = kmsg.ConfigResourceType(kind), name
			req.Resources = append(req.Resources, res)
			configs := n.ask(req).(*kmsg.DescribeConfigsResponse).Resources[0].Configs
			if len(configs) != want {
				t.Errorf("type %d v%d: %d keys, want %d", kind, version, len(configs), want)
			}
			for _, c := range configs {
				if version >= 3 && (c.Documentation == nil || *c.Documentation == "" || c.ConfigType == 0) {
					t.Errorf("%s v%d: type %d without an explanation", c.Name, version, c.ConfigType)
				}
				if version == 0 && c.Name == "segment.bytes" && !c.IsDefault {
					t.Errorf("v0: %s is no default", c.Name)
				}
				if version >= 1 && c.Name == "cleanup.policy" && (len(c.ConfigSynonyms) != 1 || c.ConfigSynonyms[0].Name != "log.cleanup.policy") {
					t.Errorf("v%d: synonyms of cleanup.policy: %+v", version, c.ConfigSynonyms)
				}
			}
		}
	}
}

func TestValidateOnlyStoresNothing(t *testing.T) {
	n := newConfigNode(t)
	n.topic("t")
	offset := n.store.Image().Offset
	for _, c := range []struct {
		kind     int8
		name, op string
	}{
		{topicKind, "t", "set retention.ms=5"}, {brokerKind, "1", "set log.cleaner.threads=2"}, {brokerKind, "", "set log.retention.ms=5"},
		{groupKind, "g", "set consumer.session.timeout.ms=50000"}, {metricsKind, "m", "set interval.ms=1000"}, {loggerKind, "1", "set root=ERROR"},
	} {
		if code := n.alter(c.kind, c.name, true, c.op); code != 0 {
			t.Errorf("%v: code %d", c, code)
		}
	}
	if n.store.Image().Offset != offset {
		t.Error("something was stored")
	}
	if v, _ := n.config(loggerKind, "1", "root"); v != "INFO" {
		t.Errorf("the level is %s", v)
	}
}

func TestConfigsThatAreTheSameAreNotStoredAgain(t *testing.T) {
	n := newConfigNode(t)
	n.topic("t", "retention.ms=5")
	offset := n.store.Image().Offset
	if code := n.alter(topicKind, "t", false, "set retention.ms=5", "delete flush.ms"); code != 0 || n.store.Image().Offset != offset {
		t.Errorf("code %d, offset %d after %d", code, n.store.Image().Offset, offset)
	}
}

// What was stored by another version does not stand in the way; it can be deleted.
func TestUnknownStoredConfigs(t *testing.T) {
	n := newConfigNode(t)
	n.topic("t", "message.format.version=3.0")
	if code := n.alter(topicKind, "t", false, "set retention.ms=5"); code != 0 {
		t.Errorf("set another: code %d", code)
	}
	if code := n.alter(topicKind, "t", false, "set message.format.version=3.1"); code != kerr.InvalidConfig.Code {
		t.Errorf("set it: code %d", code)
	}
	if code := n.alter(topicKind, "t", false, "delete message.format.version"); code != 0 || len(n.stored(topicKind, "t")) != 1 {
		t.Errorf("delete it: code %d, left %v", code, n.stored(topicKind, "t"))
	}
}

// As Kafka 4.4.0 answers while eligible leader replicas are kept (KIP-966).
func TestMinISRBelongsToTheCluster(t *testing.T) {
	n := newConfigNode(t)
	for _, c := range []struct {
		name, op string
		code     int16
	}{
		{"1", "set min.insync.replicas=2", kerr.InvalidConfig.Code},
		{"", "delete min.insync.replicas", kerr.InvalidConfig.Code},
		{"", "set min.insync.replicas=2", 0},
		{"1", "delete min.insync.replicas", 0},
	} {
		if code := n.alter(brokerKind, c.name, false, c.op); code != c.code {
			t.Errorf("%q %s: code %d, want %d", c.name, c.op, code, c.code)
		}
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Version = 2
	res := kmsg.NewAlterConfigsRequestResource()
	res.ResourceType = kmsg.ConfigResourceTypeBroker
	req.Resources = append(req.Resources, res)
	if code := n.ask(req).(*kmsg.AlterConfigsResponse).Resources[0].ErrorCode; code != kerr.InvalidConfig.Code {
		t.Errorf("replacing all by nothing: code %d", code)
	}
}

func TestNodeIDsAreNumbers(t *testing.T) {
	n := newConfigNode(t)
	if code := n.alter(brokerKind, "01", false, "set log.cleaner.threads=2"); code != 0 || n.stored(brokerKind, "1")["log.cleaner.threads"] != "2" {
		t.Errorf("01: code %d, stored %v", code, n.stored(brokerKind, "1"))
	}
	for _, name := range []string{" 1", "-1", "x", "99999999999"} {
		if code := n.alter(brokerKind, name, false, "set log.cleaner.threads=2"); code != kerr.InvalidRequest.Code {
			t.Errorf("%q: code %d", name, code)
		}
	}
}

func TestLogLevels(t *testing.T) {
	n := newConfigNode(t)
	for _, c := range []struct {
		op, logger, want string
		code             int16
	}{
		{"set wire=DEBUG", "wire", "DEBUG", 0},
		{"set root=ERROR", "root", "ERROR", 0},
		{"delete wire", "wire", "ERROR", 0},
		{"set wire=debug", "wire", "ERROR", kerr.InvalidConfig.Code},
		{"set kafka.server.KafkaApis=DEBUG", "root", "ERROR", kerr.InvalidConfig.Code},
		{"delete root", "root", "ERROR", kerr.InvalidRequest.Code},
		{"subtract root=INFO", "root", "ERROR", kerr.InvalidRequest.Code},
	} {
		if code := n.alter(loggerKind, "1", false, c.op); code != c.code {
			t.Errorf("%s: code %d, want %d", c.op, code, c.code)
		}
		if v, s := n.config(loggerKind, "1", c.logger); v != c.want || s != config.SourceBrokerLogger {
			t.Errorf("%s: %s is %s from %d", c.op, c.logger, v, s)
		}
	}
	n.h.deps.Levels = nil
	if code := n.alter(loggerKind, "1", false, "set root=INFO"); code != kerr.InvalidConfig.Code {
		t.Errorf("without levels: code %d", code)
	}
}
