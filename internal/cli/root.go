package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit statuses of the command.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	// exitFindings: verify and scrub have found something wrong.
	exitFindings = 3
)

// Main runs samsa with args (without the program's name) and returns the exit status. ctx ends when the
// person asks to stop: commands then finish what they hold and return.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "samsa: "+err.Error())
	if hint := hintOf(err); hint != "" {
		fmt.Fprintln(stderr, "  "+hint)
	}
	var usage *usageError
	if errors.Is(err, errFindings) {
		return exitFindings
	}
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "  Try %q.\n", cmd.CommandPath()+" --help")
		return exitUsage
	}
	return exitFailure
}

// newRootCommand builds the whole tree of commands.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "samsa",
		Short: "Apache Kafka's log, metamorphosed into Go",
		Long: `Samsa is a Kafka broker in one binary. Its data directories are Kafka's data
directories, and every ordinary Kafka client and tool can talk to it.

Start a broker, then use it from another terminal:

  samsa serve
  echo hello | samsa produce greetings
  samsa consume greetings --count 1

The commands that talk to a broker speak only Kafka's protocol, so they work
with Apache Kafka just as well: name it with --bootstrap HOST:PORT or in the
environment variable SAMSA_BOOTSTRAP.`,
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err: err} })
	root.AddGroup(
		&cobra.Group{ID: "broker", Title: "The broker:"},
		&cobra.Group{ID: "online", Title: "Talking to a broker:"},
		&cobra.Group{ID: "offline", Title: "Looking at files:"},
	)
	grouped := func(id string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	grouped("broker", newServeCommand())
	grouped("online", newTopicsCommand(), newProduceCommand(), newConsumeCommand(), newGroupsCommand(), newBenchCommand())
	grouped("offline", newDumpCommand(), newVerifyCommand(), newExplainCommand(), newRepairCommand(), newScrubCommand(), newAdoptCommand())
	root.AddCommand(newVersionCommand())
	return root
}

// unknownCommand rejects arguments of a command that only has subcommands, with a suggestion if there is
// a near miss.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return usagef("%s", text)
}

// parentCommand returns a command that only groups its subcommands.
func parentCommand(use, short, long string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(children...)
	return cmd
}

// atLeast is an argument check for commands that take names.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("name %s", what)
		}
		return nil
	}
}

// exactly is an argument check for commands that take one name, or none.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return usagef("name %s", what)
		case len(args) > n:
			return usagef("unexpected argument %q", args[n])
		default:
			return nil
		}
	}
}
