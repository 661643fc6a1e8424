package checkpoint

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/samsalog/samsa/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes a file as somebody else would have.
func put(t testing.TB, fsys vfs.FS, path, content string) {
	t.Helper()
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, fsys vfs.FS, path string) string {
	t.Helper()
	data, err := readAll(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
