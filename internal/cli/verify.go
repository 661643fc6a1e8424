package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect/verify"
)

// errFindings ends a command that has found something wrong; what it is has been printed.
var errFindings = errors.New("something is wrong with these files")

func newVerifyCommand() *cobra.Command {
	var o verify.Options
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "verify DIR|FILE...",
		Short: "Check every file of a data directory",
		Long: `Check the files of a log directory, of one partition's directory, or single files
of it: checksums, order of offsets, indexes against their log, transaction
indexes against markers, producer snapshots against a replay, leader epochs,
checkpoints, names. Nothing is changed, and a broker may be using the directory.

One line is printed for each finding: severity, file, rule, bytes, offsets, what
is wrong and what that means for the data.

Exit status: 0 nothing wrong, 1 could not be examined, 2 wrong command line,
3 something is wrong.`,
		Example: `  samsa verify samsa-data
  samsa verify /var/lib/kafka/orders-0 --json
  samsa verify samsa-data/orders-0/00000000000000000000.index`,
		Args: atLeast(1, "the directory or file to verify"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd, o, args, asJSON, quiet)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.Notes, "notes", false, "also print what is normal, such as leftovers")
	flags.BoolVar(&o.Deep, "deep", false, "also read every record, decompressing it")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object per finding, and one summary")
	flags.BoolVarP(&quiet, "quiet", "q", false, "print no summary and no progress")
	return cmd
}

func runVerify(cmd *cobra.Command, o verify.Options, args []string, asJSON, quiet bool) error {
	out := findingPrinter(cmd, asJSON)
	started := time.Now()
	bar := newProgress(cmd.ErrOrStderr(), quiet)
	defer bar.done()
	o.Progress = bar.add
	var total verify.Summary
	for _, path := range args {
		o.Path = path
		sum, err := verify.Run(cmd.Context(), o, out)
		if err != nil {
			return withHint(err, "Name a log directory, a partition's directory or a file in one.")
		}
		total.Add(sum)
	}
	bar.done()
	if asJSON {
		line, err := appendJSONLine(nil, struct {
			Kind string `json:"kind"`
			verify.Summary
		}{"summary", total})
		if err == nil {
			_, err = cmd.OutOrStdout().Write(line)
		}
		if err != nil {
			return err
		}
	} else if !quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, %s, %s in %s: %s, %s, %s\n", count(int64(total.Partitions), "partition"), fmt.Sprintf("%d batches", total.Batches),
			byteSize(total.Bytes), time.Since(started).Round(time.Millisecond), count(int64(total.Errors), "error"), count(int64(total.Warnings), "warning"), count(int64(total.Notes), "note"))
	}
	if !total.Healthy() {
		return withHint(errFindings, `"samsa repair DIR" shows what can be done about it.`)
	}
	return nil
}

// findingPrinter prints findings to standard output.
func findingPrinter(cmd *cobra.Command, asJSON bool) func(verify.Finding) {
	return func(f verify.Finding) {
		if !asJSON {
			fmt.Fprintln(cmd.OutOrStdout(), f)
			return
		}
		line, err := appendJSONLine(nil, struct {
			Kind string `json:"kind"`
			verify.Finding
		}{"finding", f})
		if err == nil {
			_, _ = cmd.OutOrStdout().Write(line) // a broken pipe shows at the summary
		}
	}
}
