package samsa

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"

	"github.com/samsalog/samsa/internal/config"
	"github.com/samsalog/samsa/storage/checkpoint"
	"github.com/samsalog/samsa/vfs"
)

// DefaultListen is where a broker listens if nothing else is said.
const DefaultListen = "127.0.0.1:9092"

// Config says how to run a broker. The zero Config with one directory is a working one.
type Config struct {
	// Dirs are the log directories. They are created and formatted if they are empty. Required unless
	// Properties has log.dirs or log.dir.
	Dirs []string
	// Listen is the host:port of a plaintext listener; port 0 takes a free one, see Broker.Addr.
	// Empty: the listeners of Properties, else DefaultListen.
	Listen string
	// Properties are Kafka's broker settings by their names in server.properties. Dirs and Listen win
	// over log.dirs and listeners.
	Properties map[string]string
	// Logger hears what a person should know; nil: nobody does.
	Logger *slog.Logger
	// FS is where the directories are; nil: the host's file system.
	FS vfs.FS
	// ReadOnly serves the directories without changing a byte in them: whatever has to be written goes to Scratch.
	// Clients may read, and commit offsets; what they want to produce, create, alter or delete is refused. Nothing is
	// compacted, nor deleted for its age. node.id and metadata.log.dir are what the directories say.
	ReadOnly bool
	// Scratch is a directory for what a read-only broker writes. It is kept, and continued as long as the directories
	// are unchanged. Empty: a temporary one, which Shutdown removes.
	Scratch string
}

// errNoDirs is a configuration without a place for the data.
var errNoDirs = errors.New("samsa: no log directory: set Dirs, or log.dirs in Properties")

// static merges the fields into properties and checks all of it.
func (c *Config) static() (*config.Static, []config.Warning, error) {
	props := map[string]string{}
	maps.Copy(props, c.Properties)
	if len(c.Dirs) > 0 {
		dirs := make([]string, len(c.Dirs))
		for i, d := range c.Dirs {
			abs, err := filepath.Abs(d)
			if err != nil {
				return nil, nil, err
			}
			dirs[i] = abs
		}
		props["log.dirs"] = strings.Join(dirs, ",")
	}
	if props["log.dirs"] == "" && props["log.dir"] == "" {
		return nil, nil, errNoDirs
	}
	switch {
	case c.Listen != "":
		props["listeners"] = "PLAINTEXT://" + c.Listen
	case props["listeners"] == "":
		props["listeners"] = "PLAINTEXT://" + DefaultListen
	}
	if c.ReadOnly {
		maps.Copy(props, readOnlyProperties())
		if err := c.asFound(props); err != nil {
			return nil, nil, err
		}
	}
	if props["node.id"] == "" && props["broker.id"] == "" {
		props["node.id"] = c.nodeOf(props)
	}
	return config.Load(props)
}

// nodeOf is the number of a node that no setting gives one: whose directory it is, or 1 for a new one.
func (c *Config) nodeOf(props map[string]string) string {
	dirs := cmp.Or(props["log.dirs"], props["log.dir"])
	first, _, _ := strings.Cut(dirs, ",")
	meta, err := checkpoint.ReadMetaProperties(c.fs(), filepath.Join(strings.TrimSpace(first), checkpoint.MetaPropertiesFile))
	if err != nil || meta.NodeID == checkpoint.NoNodeID {
		return "1" // what is wrong with the directory is told when it is opened
	}
	return nodeName(meta.NodeID)
}

func (c *Config) fs() vfs.FS {
	if c.FS != nil {
		return c.FS
	}
	return vfs.NewOS()
}

func (c *Config) logger() *slog.Logger {
	if c.Logger != nil {
		return c.Logger
	}
	return slog.New(slog.DiscardHandler)
}
