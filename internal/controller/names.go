package controller

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/samsalog/samsa/internal/metadata"
)

// maxTopicName keeps "<topic>-<partition>.<32 hex>-delete" within the 255 bytes of a file name.
const maxTopicName = 249

// checkTopicName tests a name alone (Topic.validate).
func checkTopicName(name string) *Error {
	switch {
	case name == "":
		return refuse(kerr.InvalidTopicException, "a topic name must not be empty")
	case name == "." || name == "..":
		return refuse(kerr.InvalidTopicException, "a topic must not be called %q", name)
	case len(name) > maxTopicName:
		return refuse(kerr.InvalidTopicException, "a topic name has at most %d characters, this one has %d", maxTopicName, len(name))
	case strings.ContainsFunc(name, isIllegal):
		return refuse(kerr.InvalidTopicException, "topic name %q has characters other than a-z, A-Z, 0-9, '.', '_' and '-'", name)
	}
	return nil
}

// CheckTopicName tests whether a topic may be called so; a refusal is an *Error.
func CheckTopicName(name string) error {
	if err := checkTopicName(name); err != nil {
		return err
	}
	return nil
}

func isIllegal(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
}

// internalTopics are those that Kafka makes for itself (Topic.isInternal).
var internalTopics = map[string]bool{"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true}

// metricName is what a topic name becomes in the names of metrics (Topic.unifyCollisionChars).
func metricName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// checkNewName tests a name against the topics that exist and those that the same request creates, which
// created has by their metric names.
func checkNewName(i *metadata.Image, name string, created map[string]string) *Error {
	if err := checkTopicName(name); err != nil {
		return err
	}
	if i.Topics.ByName(name) != nil {
		return refuse(kerr.TopicAlreadyExists, "topic %q already exists", name)
	}
	others := i.Topics.Colliding(name)
	if other, ok := created[metricName(name)]; ok {
		others = []string{other}
	}
	if len(others) > 0 {
		return refuse(kerr.InvalidTopicException, "topic %q collides with %q: their metrics would have the same name", name, others[0])
	}
	return nil
}
