package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion is what the Go toolchain recorded of this build.
type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuildVersion() buildVersion {
	v := buildVersion{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func newVersionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this binary was built from",
		Args:  exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := readBuildVersion()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), v)
			}
			return v.write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (v buildVersion) write(w io.Writer) error {
	text := "samsa " + v.Version
	if v.Revision != "" {
		text += " (" + v.Revision[:min(12, len(v.Revision))]
		if v.Modified {
			text += ", modified"
		}
		text += ")"
	}
	_, err := fmt.Fprintf(w, "%s %s %s\n", text, v.Go, v.Platform)
	return err
}
