package overlay

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// node is a file or directory that was looked at or changed. It belongs to FS.mu, but for what contents says.
type node struct {
	parent *node // nil for the root, and once removed
	name   string
	dir    bool
	// base is the path that it has, or its first bytes have, in the base; "": it is all new.
	base string
	mode fs.FileMode // of what is new
	// children are the known entries of a directory; gone are the names of base that must not be seen any more.
	children map[string]*node
	gone     map[string]bool
	// blob is the number of a changed file's blob, 0 while it is as in the base. limit is how many bytes of base come
	// before it.
	blob  uint64
	limit int64
	// modTime is that of an unchanged file that was given another one.
	modTime time.Time
	removed bool
	opened  contents
}

// rootNode is what all paths begin at. On Windows its entries are the volumes.
func rootNode() *node {
	n := &node{dir: true, children: map[string]*node{}}
	if filepath.VolumeName(string(filepath.Separator)) == "" {
		n.base = string(filepath.Separator)
	}
	return n
}

// elements are the names of an absolute path, the volume being the first if there is one.
func elements(path string) []string {
	volume := filepath.VolumeName(path)
	rest := strings.Trim(path[len(volume):], string(filepath.Separator))
	var names []string
	if volume != "" {
		names = []string{volume}
	}
	if rest == "" {
		return names
	}
	return append(names, strings.Split(rest, string(filepath.Separator))...)
}

// prefixes are the paths that lead to an absolute one, the shortest first, without the root.
func prefixes(path string) []string {
	var out []string
	for p := filepath.Clean(path); len(elements(p)) > 0; p = filepath.Dir(p) {
		out = append(out, p)
		if filepath.Dir(p) == p {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// path is where a node is now.
func (n *node) path() string {
	if n.parent == nil {
		return string(filepath.Separator)
	}
	if n.parent.parent == nil && filepath.VolumeName(n.name) != "" {
		return n.name + string(filepath.Separator)
	}
	return filepath.Join(n.parent.path(), n.name)
}

// find returns the node at an absolute path, nil if there is none, and the directory that holds it or would.
func (f *FS) find(path string) (dir, n *node, err error) {
	n = f.root
	for _, name := range elements(path) {
		if n == nil {
			return nil, nil, fs.ErrNotExist
		}
		if !n.dir {
			return nil, nil, syscall.ENOTDIR
		}
		dir = n
		if n, err = f.child(dir, name); err != nil {
			return nil, nil, err
		}
	}
	return dir, n, nil
}

// mustFind is find for a path as it was given, which must exist and not be the root.
func (f *FS) mustFind(name string) (string, *node, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", nil, err
	}
	_, n, err := f.find(path)
	if err == nil && n == nil {
		err = fs.ErrNotExist
	}
	return path, n, err
}

// child returns an entry of a directory, nil if there is none.
func (f *FS) child(dir *node, name string) (*node, error) {
	if n := dir.children[name]; n != nil {
		return n, nil
	}
	if dir.gone[name] {
		return nil, nil
	}
	base := filepath.Join(dir.base, name)
	switch {
	case dir.parent == nil && filepath.VolumeName(name) != "":
		base = name + string(filepath.Separator)
	case dir.base == "":
		return nil, nil
	}
	info, err := f.o.Base.Stat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &node{parent: dir, name: name, dir: info.IsDir(), base: base, mode: info.Mode()}
	dir.put(n)
	return n, nil
}

// put enters a node under its name.
func (n *node) put(child *node) {
	if n.children == nil {
		n.children = map[string]*node{}
	}
	n.children[child.name] = child
}

// hide takes a name away, that of the base too.
func (n *node) hide(name string) {
	delete(n.children, name)
	if n.base == "" {
		return
	}
	if n.gone == nil {
		n.gone = map[string]bool{}
	}
	n.gone[name] = true
}

// list merges the entries of the base with those that were changed.
func (f *FS) list(dir *node) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	if dir.base != "" {
		entries, err := f.o.Base.ReadDir(dir.base)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			n := dir.children[e.Name()]
			if !dir.gone[e.Name()] && (n == nil || n.asInBase()) {
				out = append(out, e)
			}
		}
	}
	for name, n := range dir.children {
		if dir.base != "" && !dir.gone[name] && n.asInBase() {
			continue // listed already
		}
		info, err := f.info(n)
		if err != nil {
			return nil, err
		}
		out = append(out, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// asInBase reports whether the base describes the node: same place, same content.
func (n *node) asInBase() bool {
	return n.blob == 0 && n.modTime.IsZero() && n.base != "" && n.parent != nil && n.base == filepath.Join(n.parent.base, n.name)
}

// info describes a node.
func (f *FS) info(n *node) (fs.FileInfo, error) {
	out := info{name: n.name, mode: n.mode}
	if n.dir {
		out.mode |= fs.ModeDir
	}
	switch {
	case n.blob != 0:
		size, modTime, err := f.blobInfo(n)
		if err != nil {
			return nil, err
		}
		out.size, out.modTime = n.limit+size, modTime
	case n.base != "":
		found, err := f.o.Base.Stat(n.base)
		if err != nil || n.asInBase() {
			return found, err
		}
		out.size, out.mode, out.modTime = found.Size(), found.Mode(), found.ModTime()
	}
	if !n.modTime.IsZero() {
		out.modTime = n.modTime
	}
	return out, nil
}

// blobInfo describes a blob; one that a crash has left without a name is empty.
func (f *FS) blobInfo(n *node) (size int64, modTime time.Time, err error) {
	found, err := f.o.Scratch.Stat(f.blobPath(n.blob))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, time.Time{}, nil
	}
	if err != nil {
		return 0, time.Time{}, err
	}
	return found.Size(), found.ModTime(), nil
}

// info is a description that the base does not have.
type info struct {
	name    string
	size    int64
	mode    fs.FileMode
	modTime time.Time
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modTime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
