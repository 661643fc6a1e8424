package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/samsalog/samsa/internal/adopt"
)

// adoptTarget is what all forms of adopt are told.
type adoptTarget struct {
	// dirs are the log directories, metadataDir the one with the metadata log, "" where it is found by itself.
	dirs        []string
	metadataDir string
	// properties are those of --config.
	properties map[string]string
	asJSON     bool
	verbose    bool
	yes        bool
}

// adoptForm is one thing that adopt can do besides reporting. Its flags say whether it is asked for.
type adoptForm interface {
	// flags registers the form's own flags.
	flags(f *pflag.FlagSet)
	// asked returns the flag that asks for the form, "" if it was not given.
	asked() string
	// needsDirs: the form is about directories of the command line.
	needsDirs() bool
	run(cmd *cobra.Command, t adoptTarget) error
}

// adoptForms are all forms; each stands in a file of its own.
func adoptForms() []adoptForm {
	controller := new(controllerFlag)
	return []adoptForm{&adoptSave{}, &adoptRollback{}, &fromLogsForm{controller: controller}, &soloForm{controller: controller}}
}

func newAdoptCommand() *cobra.Command {
	var t adoptTarget
	var configFile string
	forms := adoptForms()
	cmd := &cobra.Command{
		Use:   "adopt DIR...",
		Short: "What is in a data directory, and what serving it would change",
		Long: `Look at the log directories of a node before Samsa, or Apache Kafka again, takes
them over: who has written them, topics, groups, transactions, what is unfinished,
whether serve would take them or why not, and what would change on disk.

Name all log directories of the node, or its server.properties with --config.
Without --yes nothing is changed. docs/swap.md is the guide.

  samsa adopt DIR... --save FILE      keep what a broker may change or delete
  samsa adopt --rollback FILE         what it takes to go back to that moment, and
                                      which records are given up
  samsa adopt --rollback FILE --yes   go back, byte for byte

Logs are kept by hard links: a savepoint takes little room until retention or
compaction deletes segments. A broker must not be running for --save and --yes.`,
		Example: `  samsa adopt /var/lib/kafka/data
  samsa adopt /disk1/kafka /disk2/kafka --json
  samsa adopt --config /etc/kafka/server.properties
  samsa adopt /var/lib/kafka/data --save /var/lib/kafka/before-samsa`,
		RunE: func(cmd *cobra.Command, args []string) error {
			form, err := askedForm(forms)
			if err != nil {
				return err
			}
			t.dirs = args
			if configFile != "" {
				if t, err = t.fromConfig(configFile); err != nil {
					return err
				}
			}
			if len(t.dirs) == 0 && (form == nil || form.needsDirs()) {
				return usagef("name the log directories of the node, or its settings with --config FILE")
			}
			if form != nil {
				return form.run(cmd, t)
			}
			return t.report(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&configFile, "config", "c", "", "take log.dirs and metadata.log.dir from this `FILE`")
	flags.BoolVar(&t.asJSON, "json", false, "print one JSON document")
	flags.BoolVarP(&t.verbose, "verbose", "v", false, "list every ACL, quota, credential, token and client metrics subscription")
	flags.BoolVar(&t.yes, "yes", false, "carry the plan out")
	for _, form := range forms {
		form.flags(flags)
	}
	return cmd
}

// askedForm picks the form that the flags ask for; nil for the report.
func askedForm(forms []adoptForm) (adoptForm, error) {
	var found adoptForm
	for _, form := range forms {
		switch {
		case form.asked() == "":
		case found != nil:
			return nil, usagef("%s and %s contradict each other", found.asked(), form.asked())
		default:
			found = form
		}
	}
	return found, nil
}

// fromConfig adds the directories of a server.properties.
func (t adoptTarget) fromConfig(name string) (adoptTarget, error) {
	props, err := readProperties(name)
	if err != nil {
		return t, err
	}
	t.properties = props
	list := props["log.dirs"]
	if list == "" {
		list = props["log.dir"]
	}
	for dir := range strings.SplitSeq(list, ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			t.dirs = append(t.dirs, dir)
		}
	}
	t.metadataDir = strings.TrimSpace(props["metadata.log.dir"])
	if len(t.dirs) == 0 {
		return t, usagef("%s has no log.dirs", name)
	}
	return t, nil
}

func (t adoptTarget) report(cmd *cobra.Command) error {
	r, err := adopt.Look(cmd.Context(), adopt.Options{Dirs: t.dirs, MetadataDir: t.metadataDir})
	if err != nil {
		return withHint(err, "Name the directories that hold meta.properties and the partitions.")
	}
	if t.asJSON {
		return printJSON(cmd.OutOrStdout(), r)
	}
	return printAdoption(cmd.OutOrStdout(), r, t.verbose)
}
