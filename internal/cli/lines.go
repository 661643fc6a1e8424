package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineSource is where lines come from; usually standard input.
type lineSource = io.Reader

// numberedLine is a line without its end; number counts from 1.
type numberedLine struct {
	number int
	text   []byte
}

// lineReader hands out lines one by one. err is set before next is closed.
type lineReader struct {
	next chan numberedLine
	err  error
}

// readLines reads lines of any length in a goroutine of its own, because a read of standard input cannot
// be interrupted. The goroutine ends with the input; if nobody takes its lines any more, it waits with at
// most one line until the process ends.
func readLines(in io.Reader) *lineReader {
	lines := &lineReader{next: make(chan numberedLine)}
	go func() {
		defer close(lines.next)
		reader := bufio.NewReaderSize(in, 64<<10)
		for number := 1; ; number++ {
			text, err := reader.ReadBytes('\n')
			if len(text) > 0 {
				text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
				lines.next <- numberedLine{number: number, text: text}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				lines.err = fmt.Errorf("read standard input: %w", err)
				return
			}
		}
	}()
	return lines
}
