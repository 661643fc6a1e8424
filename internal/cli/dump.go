package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/samsalog/samsa/inspect"
)

// decoderClass is one of those that --key-decoder-class and --value-decoder-class can name here: the ones that Kafka brings along,
// which it has had in several packages.
func decoderClass(name string) (inspect.TextDecoder, error) {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "StringDecoder":
		return inspect.StringDecoder, nil
	case "IntegerDecoder":
		return inspect.IntegerDecoder, nil
	case "LongDecoder":
		return inspect.LongDecoder, nil
	case "DefaultDecoder":
		return inspect.DefaultDecoder, nil
	}
	return 0, withHint(usagef("decoder class %q cannot be loaded: there is no Java here", name),
		"StringDecoder, IntegerDecoder, LongDecoder and DefaultDecoder are known; with --json other bytes than UTF-8 are shown as base64.")
}

// dumpFlags are the flags of samsa dump, spelled as those of kafka-dump-log.
type dumpFlags struct {
	options                                             inspect.DumpOptions
	files                                               string
	keyDecoder, valueDecoder                            string
	offsets, transactions, metadata, remote, shareState bool
	maxBytes, maxMessageSize                            int32
	from, to                                            string
	key, value, header                                  string
	follow                                              bool
}

func newDumpCommand() *cobra.Command {
	f := &dumpFlags{options: inspect.DefaultDumpOptions()}
	cmd := &cobra.Command{
		Use:   "dump FILE|DIR...",
		Short: "Print what segments, indexes and snapshots hold",
		Long: `Print what the files of a data directory hold, without a broker and without
changing them. The ending of a file's name decides how it is read:

  .log         a segment: its batches, and with --deep-iteration its records
  .index       an offset index, compared with its segment
  .timeindex   a time index, compared with its segment
  .txnindex    the aborted transactions of a segment
  .snapshot    the producers of a partition
  .checkpoint  a snapshot of the metadata log

A partition's directory stands for all its files, a log directory for those of
all its partitions. Files that a broker is using can be dumped: nothing is locked,
and what the broker has in the page cache stays there.

--from and --to are offsets, or times such as 2026-11-30T05:00:00Z; the indexes
say where to begin. --key, --value and --header are regular expressions.

Flags and lines are those of Apache Kafka's kafka-dump-log. What does not fit
together, such as an index that does not match its log, is listed at the end
on standard error; that alone is no failure.`,
		Example: `  samsa dump samsa-data/orders-0/00000000000000000000.log --print-data-log
  samsa dump samsa-data/orders-0 --from 1200 --to 1300 --print-data-log
  samsa dump samsa-data/orders-0 --value 'customer.*42' --json
  samsa dump --files a.index,a.timeindex --verify-index-only
  samsa dump --cluster-metadata-decoder samsa-data/__cluster_metadata-0/*.log`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"key-decoder-class", "value-decoder-class"} {
				f.options.PrintDataLog = f.options.PrintDataLog || cmd.Flags().Changed(name)
			}
			o, err := f.complete(args)
			if err != nil {
				return err
			}
			bar := newProgress(cmd.ErrOrStderr(), f.follow)
			defer bar.done()
			o.Progress = bar.add
			if f.follow {
				o.Follow = func() bool { return wait(cmd.Context(), followEvery) }
			}
			return withHint(inspect.Dump(cmd.OutOrStdout(), cmd.ErrOrStderr(), o), "What was readable is above; the reasons are on standard error.")
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.files, "files", "", "comma separated `FILES` to dump, besides those named as arguments")
	flags.BoolVar(&f.options.DeepIteration, "deep-iteration", false, "print records, not only batches")
	flags.BoolVar(&f.options.PrintDataLog, "print-data-log", false, "print keys and values too; implies --deep-iteration")
	flags.BoolVar(&f.options.SkipRecordMetadata, "skip-record-metadata", false, "print only keys and values of records")
	flags.Int32Var(&f.maxBytes, "max-bytes", int32(f.options.MaxBytes), "look only at the first `BYTES` of each log")
	flags.Int32Var(&f.maxMessageSize, "max-message-size", int32(f.options.MaxMessageSize), "largest batch in `BYTES` that an index may point at")
	flags.BoolVar(&f.options.VerifyIndexOnly, "verify-index-only", false, "compare indexes with their log and print no entries")
	flags.BoolVar(&f.options.IndexSanityCheck, "index-sanity-check", false, "check only an index's length, first and last entry")
	flags.StringVar(&f.keyDecoder, "key-decoder-class", "StringDecoder", "`CLASS` that decodes keys: String-, Integer-, Long- or DefaultDecoder (bytes in hexadecimal); implies --print-data-log")
	flags.StringVar(&f.valueDecoder, "value-decoder-class", "StringDecoder", "`CLASS` that decodes values, likewise")
	flags.BoolVar(&f.offsets, "offsets-decoder", false, "decode records of __consumer_offsets")
	flags.BoolVar(&f.transactions, "transaction-log-decoder", false, "decode records of __transaction_state")
	flags.BoolVar(&f.metadata, "cluster-metadata-decoder", false, "decode records of the metadata log")
	flags.BoolVar(&f.remote, "remote-log-metadata-decoder", false, "decode records of __remote_log_metadata")
	flags.BoolVar(&f.shareState, "share-group-state-decoder", false, "decode records of __share_group_state")
	flags.StringVar(&f.from, "from", "", "begin at this offset or `TIME`")
	flags.StringVar(&f.to, "to", "", "end before this offset or `TIME`")
	flags.StringVar(&f.key, "key", "", "only records whose key matches `REGEXP`")
	flags.StringVar(&f.value, "value", "", "only records whose value matches `REGEXP`")
	flags.StringVar(&f.header, "header", "", "only records with a header, as name=value, that matches `REGEXP`")
	flags.BoolVarP(&f.follow, "follow", "F", false, "go on as the last file grows, until interrupted")
	flags.BoolVar(&f.options.JSON, "json", false, "print one JSON object per line")
	return cmd
}

// complete turns the command line into options.
func (f *dumpFlags) complete(args []string) (inspect.DumpOptions, error) {
	o := f.options
	if f.files != "" {
		o.Files = strings.Split(f.files, ",")
	}
	o.Files = append(o.Files, args...)
	switch {
	case len(o.Files) == 0:
		return o, usagef("which files are to be dumped? Name them as arguments or with --files")
	case f.maxBytes < 0:
		return o, usagef("--max-bytes %d is negative", f.maxBytes)
	case f.maxMessageSize < 0:
		return o, usagef("--max-message-size %d is negative", f.maxMessageSize)
	}
	var err error
	if o.KeyAs, err = decoderClass(f.keyDecoder); err != nil {
		return o, err
	}
	if o.ValueAs, err = decoderClass(f.valueDecoder); err != nil {
		return o, err
	}
	o.MaxBytes, o.MaxMessageSize = int64(f.maxBytes), int(f.maxMessageSize)
	// As in Kafka's tool the first of these wins.
	switch {
	case f.offsets:
		o.Decoder = inspect.DecodeOffsets
	case f.transactions:
		o.Decoder = inspect.DecodeTransactions
	case f.metadata:
		o.Decoder = inspect.DecodeMetadata
	case f.remote:
		o.Decoder = inspect.DecodeRemoteLog
	case f.shareState:
		o.Decoder = inspect.DecodeShareState
	}
	return o, f.selection(&o)
}
