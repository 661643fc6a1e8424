package cli

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// groupCommit is where a group stands in a partition; of a share group that is where its share partition begins.
type groupCommit struct {
	at       int64 // -1 for nowhere yet
	metadata string
	// lag is how many records are not done, -1 for unknown. told is whether the broker says so: of a share group records
	// behind at may be done already.
	lag  int64
	told bool
}

// groupCommits are those of a group by topic and partition.
type groupCommits map[string]map[int32]groupCommit

func (g groupCommits) set(topic string, partition int32, c groupCommit) {
	if g[topic] == nil {
		g[topic] = map[int32]groupCommit{}
	}
	g[topic][partition] = c
}

// lookup is what is known of a partition; nowhere if nothing.
func (g groupCommits) lookup(topic string, partition int32) groupCommit {
	if c, ok := g[topic][partition]; ok {
		return c
	}
	return groupCommit{at: -1, lag: -1}
}

func (g groupCommits) topics() kadm.TopicsSet {
	set := kadm.TopicsSet{}
	for topic, partitions := range g {
		for p := range partitions {
			set.Add(topic, p)
		}
	}
	return set
}

// fetchCommits asks where a group stands.
func fetchCommits(ctx context.Context, adm *admin, group string) (groupCommits, error) {
	fetched, err := adm.FetchOffsets(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("fetch committed offsets: %w", err)
	}
	commits := groupCommits{}
	fetched.Each(func(o kadm.OffsetResponse) {
		if o.Err == nil {
			commits.set(o.Topic, o.Partition, groupCommit{at: o.At, metadata: o.Metadata, lag: -1})
		}
	})
	return commits, nil
}

// fetchShareCommits asks where a share group stands.
func fetchShareCommits(ctx context.Context, adm *admin, group string) (groupCommits, error) {
	offsets, err := adm.DescribeShareGroupOffsets(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("describe offsets: %w", err)
	}
	of := offsets[group]
	if of.Err != nil {
		return nil, of.Err
	}
	commits := groupCommits{}
	for topic, partitions := range of.Offsets {
		for p, o := range partitions {
			if o.Err != nil {
				return nil, fmt.Errorf("partition %d of topic %s: %w", p, topic, o.Err)
			}
			commits.set(topic, p, groupCommit{at: o.StartOffset, lag: o.Lag, told: true})
		}
	}
	return commits, nil
}
