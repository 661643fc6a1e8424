package handler

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/internal/metadata"
)

// fault is a refusal of a config request: Kafka's code and what a person reads.
type fault struct {
	code *kerr.Error
	text string
}

// Error returns the text.
func (f *fault) Error() string { return f.text }

func faultf(code *kerr.Error, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// configCode returns the code and message for an answer of the altering APIs: 0 and nil for nil.
func configCode(err error) (int16, *string) {
	if err == nil {
		return 0, nil
	}
	text := err.Error()
	var (
		f       *fault
		request *config.RequestError
		op      *config.OpError
		value   *config.Error
		list    *config.ListError
		unknown *config.UnknownError
	)
	switch {
	case errors.As(err, &f):
		return f.code.Code, &text
	case errors.As(err, &request):
		return kerr.InvalidRequest.Code, &text
	case errors.As(err, &op):
		return kerr.UnknownServerError.Code, nil // what Kafka trips over, it does not explain
	case errors.As(err, &list), errors.As(err, &value), errors.As(err, &unknown):
		return kerr.InvalidConfig.Code, &text
	}
	return code(err), &text
}

// editor turns the configs that are set on a resource into those that are to be set.
type editor func(keys *config.Set, current map[string]string) (map[string]string, error)

// edit is what the two altering APIs share: it works out what a resource would hold, judges it, and writes the
// difference unless it is only to be judged. All of a resource's changes take effect, or none.
func (h *Handler) edit(kind int8, name string, change editor, validateOnly bool) error {
	image, l := h.deps.Metadata.Image(), h.deps.Config()
	r := metadata.ConfigResource{Type: kind, Name: name}
	if kind == metadata.BrokerResource && name != "" {
		if err := h.thisNode(name); err != nil {
			return err
		}
		r.Name = strconv.Itoa(int(h.deps.NodeID)) // "01" is 1
	}
	keys := keysOf(kind)
	if keys == nil {
		return faultf(kerr.InvalidRequest, "there are no configs of resource type %d", kind)
	}
	current := image.Config(r)
	next, err := change(keys, current)
	if err != nil {
		return brokerFault(kind, keys, err)
	}
	if err := judge(l, r, current, next); err != nil {
		return err
	}
	if kind == metadata.TopicResource && image.Topics.ByName(name) == nil {
		return faultf(kerr.UnknownTopicOrPartition, "there is no topic %s", name)
	}
	if err := guardMinISR(image, r, current, next); err != nil {
		return err
	}
	changes := config.Differences(current, next)
	if validateOnly || len(changes) == 0 {
		return nil
	}
	if kind == metadata.TopicResource {
		for _, w := range config.TopicWarnings(l, name, next) {
			h.deps.Logger.Warn("topic configuration: "+w.Text, "topic", name, "key", w.Key)
		}
	}
	return h.deps.Controller.AlterConfigRecords(r, changes)
}

// keysOf returns the keys of a resource type, nil for a type without stored configs.
func keysOf(kind int8) *config.Set {
	switch kind {
	case metadata.TopicResource:
		return config.TopicKeys()
	case metadata.BrokerResource:
		return config.BrokerKeys()
	case metadata.GroupResource:
		return config.GroupKeys()
	case metadata.ClientMetricsResource:
		return config.ClientMetricsKeys()
	}
	return nil
}

// brokerFault names an unknown broker key as unknown, where Kafka says of others that they are no lists; both
// are INVALID_CONFIG.
func brokerFault(kind int8, keys *config.Set, err error) error {
	var list *config.ListError
	if kind == metadata.BrokerResource && errors.As(err, &list) && keys.Lookup(list.Name) == nil {
		return &config.UnknownError{Name: list.Name}
	}
	return err
}

// thisNode tests that name is this node's id, for only the node itself judges its configs.
func (h *Handler) thisNode(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return faultf(kerr.InvalidRequest, "a node id must be a number, not %q", name)
	}
	if int32(id) != h.deps.NodeID {
		return faultf(kerr.InvalidRequest, "this is node %d, not %d", h.deps.NodeID, id)
	}
	return nil
}

// judge tests the configs that a resource would hold.
func judge(l config.Layers, r metadata.ConfigResource, current, next map[string]string) error {
	next = config.Known(keysOf(r.Type), current, next)
	switch r.Type {
	case metadata.TopicResource:
		if r.Name == "" {
			return faultf(kerr.InvalidRequest, "there are no configs for all topics")
		}
		if why := topicNameFault(r.Name); why != "" {
			return faultf(kerr.InvalidTopicException, "%s", why)
		}
		return asInvalidConfig(config.ValidateTopic(l, next))
	case metadata.BrokerResource:
		if err := config.ValidateBroker(l, r.Name != "", next); err != nil {
			return faultf(kerr.InvalidRequest, "%s", err)
		}
		return nil
	case metadata.GroupResource:
		if r.Name == "" {
			return faultf(kerr.InvalidRequest, "there are no configs for all groups")
		}
		return asInvalidConfig(config.ValidateGroup(l, next))
	default:
		return judgeClientMetrics(r.Name, next)
	}
}

func judgeClientMetrics(name string, next map[string]string) error {
	if name == "" {
		return faultf(kerr.InvalidRequest, "a subscription to client metrics must have a name")
	}
	err := config.ValidateClientMetrics(next)
	var value *config.Error
	if err == nil || errors.As(err, &value) {
		return err
	}
	return faultf(kerr.InvalidRequest, "%s", err)
}

// asInvalidConfig makes whatever is wrong with values INVALID_CONFIG.
func asInvalidConfig(err error) error {
	if err == nil {
		return nil
	}
	return &fault{kerr.InvalidConfig, err.Error()}
}

// minISR is the key that eligible leader replicas are counted by (KIP-966): while they are, it exists once for all
// brokers and not for single ones.
const minISR = "min.insync.replicas"

func guardMinISR(i *metadata.Image, r metadata.ConfigResource, current, next map[string]string) error {
	if r.Type != metadata.BrokerResource || i.Features["eligible.leader.replicas.version"] < 1 {
		return nil
	}
	before, was := current[minISR]
	after, is := next[minISR]
	switch {
	case r.Name == "" && was && !is:
		return faultf(kerr.InvalidConfig, "%s of all brokers cannot be removed while eligible leader replicas are kept", minISR)
	case r.Name != "" && is && (!was || before != after):
		return faultf(kerr.InvalidConfig, "%s of one broker cannot be set while eligible leader replicas are kept", minISR)
	}
	return nil
}

// longestTopicName leaves room for the names of a partition's directories (Topic.MAX_NAME_LENGTH).
const longestTopicName = 249

// topicNameFault says why a topic cannot have a name, "" if it can.
func topicNameFault(name string) string {
	const legal = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	switch {
	case name == "":
		return "a topic's name must not be empty"
	case name == "." || name == "..":
		return fmt.Sprintf("a topic's name must not be %q", name)
	case len(name) > longestTopicName:
		return fmt.Sprintf("a topic's name must not be longer than %d characters, as %q is", longestTopicName, name)
	case strings.Trim(name, legal) != "" || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(legal, r) }):
		return fmt.Sprintf("a topic's name has letters, digits, '.', '_' and '-' only, not as %q", name)
	}
	return ""
}

// twice returns which of n resources have the type and name of another.
func twice(n int, resource func(int) metadata.ConfigResource) []bool {
	seen := make(map[metadata.ConfigResource]int, n)
	for i := range n {
		seen[resource(i)]++
	}
	out := make([]bool, n)
	for i := range n {
		out[i] = seen[resource(i)] > 1
	}
	return out
}

// errTwice is the fault of resources that stand twice.
func errTwice() error {
	return &config.RequestError{Text: "each resource must stand once only"}
}
