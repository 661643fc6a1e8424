package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/samsalog/samsa/internal/adopt/savepoint"
	"github.com/samsalog/samsa/vfs"
)

// adoptSave is adopt --save FILE.
type adoptSave struct {
	file     string
	segments string
	links    []string
}

func (a *adoptSave) flags(f *pflag.FlagSet) {
	f.StringVar(&a.file, "save", "", "make a savepoint `FILE`, with a directory FILE.d beside it")
	f.StringVar(&a.segments, "segments", string(savepoint.Link), "how --save keeps the logs of segments: link, copy or none")
	f.StringArrayVar(&a.links, "links", nil, "a `DIR` where --save may put hard links, on the file system of a log directory; may be repeated")
}

func (a *adoptSave) asked() string {
	if a.file == "" {
		return ""
	}
	return "--save"
}

func (a *adoptSave) needsDirs() bool { return true }

func (a *adoptSave) run(cmd *cobra.Command, t adoptTarget) error {
	mode := savepoint.Mode(a.segments)
	if mode != savepoint.Link && mode != savepoint.Copy && mode != savepoint.None {
		return usagef("--segments is link, copy or none, not %q", a.segments)
	}
	sum, err := savepoint.Create(cmd.Context(), savepoint.Options{
		Dirs: t.dirs, MetadataDir: t.metadataDir, File: a.file, Segments: mode, Links: a.links,
	})
	switch {
	case errors.Is(err, vfs.ErrNoLink):
		return withHint(err, "FILE and the log directory are on different file systems. Put FILE on the same one, or name a directory there with --links DIR. "+
			"--segments copy copies the logs; --segments none keeps nothing that gets deleted.")
	case errors.Is(err, savepoint.ErrInUse):
		return withHint(err, "A savepoint is of a moment at which nothing writes. Stop the broker first.")
	case err != nil:
		return err
	}
	if t.asJSON {
		return printJSON(cmd.OutOrStdout(), sum)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s of %s; copied %s, kept %s of logs by hard links\n", a.file, count(int64(sum.Files), "file"), count(int64(sum.Logs), "log"),
		byteSize(sum.Copied), byteSize(sum.Linked))
	if sum.Uncovered > 0 {
		fmt.Fprintf(out, "%s of logs are not kept: what retention, compaction or the deletion of a topic takes of them cannot be given back\n", byteSize(sum.Uncovered))
	}
	_, err = fmt.Fprintf(out, "To go back: samsa adopt --rollback %s\nTo give it up: rm -r %s %s.d\n", a.file, a.file, a.file)
	return err
}

// adoptRollback is adopt --rollback FILE.
type adoptRollback struct{ file string }

func (a *adoptRollback) flags(f *pflag.FlagSet) {
	f.StringVar(&a.file, "rollback", "", "bring the directories of a savepoint `FILE` back to the moment of it; shows its plan, and with --yes does it")
}

func (a *adoptRollback) asked() string {
	if a.file == "" {
		return ""
	}
	return "--rollback"
}

func (a *adoptRollback) needsDirs() bool { return false }

func (a *adoptRollback) run(cmd *cobra.Command, t adoptTarget) error {
	if len(t.dirs) > 0 {
		return usagef("the savepoint says which directories it is of; name none with --rollback")
	}
	plan, err := savepoint.MakePlan(cmd.Context(), nil, a.file)
	if err != nil {
		return err
	}
	if t.asJSON {
		err = printJSON(cmd.OutOrStdout(), plan)
	} else {
		err = printRollback(cmd, plan)
	}
	switch {
	case err != nil:
		return err
	case len(plan.Lost) > 0:
		return withHint(savepoint.ErrLost, "Nothing was changed. What is lost is listed above.")
	case !t.yes || len(plan.Steps) == 0:
		if len(plan.Steps) > 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "Nothing was changed. Repeat with --yes to do it.")
		}
		return nil
	}
	_, err = savepoint.Rollback(cmd.Context(), nil, a.file, nil)
	if errors.Is(err, savepoint.ErrInUse) {
		return withHint(err, "Nothing was changed. Stop the broker first.")
	}
	if err != nil {
		return withHint(err, "What was done so far is on disk, and a broker would recover the directories. The same command completes it.")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Done: the directories are as they were at %s.\n", time.UnixMilli(plan.CreatedMs).UTC().Format(time.RFC3339))
	return nil
}

// printRollback says what a rollback does, the records first.
func printRollback(cmd *cobra.Command, p *savepoint.Plan) error {
	w := cmd.OutOrStdout()
	for _, dir := range p.InUse {
		fmt.Fprintf(w, "%s is in use: the broker has to be stopped first\n", dir)
	}
	for _, l := range p.Logs {
		fmt.Fprintln(w, l)
	}
	kinds := map[string]int64{}
	for _, s := range p.Steps {
		kinds[s.Kind]++
	}
	for _, text := range p.Lost {
		fmt.Fprintf(w, "cannot be given back: %s\n", text)
	}
	if len(p.Steps) == 0 {
		_, err := fmt.Fprintln(w, "the directories are as they were; there is nothing to do")
		return err
	}
	_, err := fmt.Fprintf(w, "%s come back, %s are cut at their former end, %s and %s go\n", count(kinds["put"], "file"), count(kinds["cut"], "log"),
		count(kinds["remove"], "file"), plural(kinds["removedir"], "directory", "directories"))
	return err
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
