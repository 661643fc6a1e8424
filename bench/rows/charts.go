package rows

import (
	"github.com/samsalog/samsa/bench/report"
	"github.com/samsalog/samsa/bench/row"
)

// Charts are the figures that are plotted.
func Charts() []report.Chart {
	return []report.Chart{
		{Group: "produce", Figure: row.Rate}, {Group: "produce", Figure: row.BrokerCPU}, {Group: "produce", Figure: row.PeakMemory},
		{Group: "consume", Figure: row.Rate}, {Group: "consume", Figure: row.BrokerCPU},
		{Group: "latency", Figure: row.P50}, {Group: "latency", Figure: row.P99},
		{Group: "single", Figure: row.P50}, {Group: "fsync", Figure: row.Rate},
		{Group: "start", Figure: firstRecord}, {Group: "partitions", Figure: "resident"},
	}
}
