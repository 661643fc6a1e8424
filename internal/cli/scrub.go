package cli

import (
	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect/verify"
)

// scrubDefaultRate is slow enough to go unnoticed on any disk: a terabyte takes some 15 hours.
const scrubDefaultRate = 20 << 20

func newScrubCommand() *cobra.Command {
	o := verify.Options{}
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "scrub DIR...",
		Short: "Verify a data directory slowly, beside a running broker",
		Long: `Read everything that samsa verify reads, at a bounded rate, and tell the same
findings with the same exit status. The files' pages do not stay in the page cache.`,
		Example: `  samsa scrub samsa-data --rate 5000000`,
		Args:    atLeast(1, "the directory to scrub"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runVerify(cmd, o, args, asJSON, quiet) },
	}
	flags := cmd.Flags()
	flags.Int64Var(&o.BytesPerSecond, "rate", scrubDefaultRate, "how many `BYTES` of logs are read per second; 0: no bound")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object per finding, and one summary")
	flags.BoolVarP(&quiet, "quiet", "q", false, "print no summary and no progress")
	return cmd
}
