package merge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// keys are the attributes by which objects are named.
var keys = []string{"id", "uuid", "name"}

// mapFile has the old and the new names of what was brought, and what is done with it: a line of JSON each, which is on disk before the next
// request. A last line that was cut is as if it was not there: its request is sent again, and answered as the first time.
type mapFile struct {
	file    *os.File // nil in a dry run
	head    mapHead
	objects map[string]*mapped
	// byOld are the objects by their kind, attribute and old name.
	byOld map[[3]string]*mapped
}

// mapHead is the first line: from where to where.
type mapHead struct {
	From string `json:"from"`
	Old  string `json:"tenant"`
	New  string `json:"new_tenant"`
}

// mapped is an object that was brought, or a step of it that is done.
type mapped struct {
	Kind string `json:"kind"`
	Old  object `json:"old"`
	New  object `json:"new,omitempty"`
	Done string `json:"done,omitempty"`

	done map[string]bool
}

// The steps of an object after it is made.
const (
	linked    = "linked"
	completed = "completed"
	mailed    = "mailed"
)

// openMap opens the file of a run that was interrupted, or makes one. In a dry run it is only read.
func openMap(name string, dry bool) (m *mapFile, err error) {
	m = &mapFile{objects: map[string]*mapped{}, byOld: map[[3]string]*mapped{}}
	text, err := os.ReadFile(name) //nolint:gosec // the operator's own file
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	lines := bufio.NewScanner(bytes.NewReader(text[:whole]))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var line mapped
		if n == 1 {
			err = json.Unmarshal(lines.Bytes(), &m.head)
		} else if err = json.Unmarshal(lines.Bytes(), &line); err == nil {
			m.take(&line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: it is no file of an earlier run: %w", name, n, err)
		}
	}
	if dry {
		return m, nil
	}
	if m.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600); err != nil { //nolint:gosec // the operator's own file
		return nil, err
	}
	if err = m.file.Truncate(int64(whole)); err == nil {
		_, err = m.file.Seek(int64(whole), 0)
	}
	return m, err
}

func (m *mapFile) close() error {
	if m.file == nil {
		return nil
	}
	return errors.Join(m.file.Sync(), m.file.Close())
}

func (m *mapFile) write(line any) error {
	if m.file == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = m.file.Write(append(text, '\n'))
	return err
}

// begin writes the first line, or compares it.
func (m *mapFile) begin(head mapHead) error {
	m.head = head
	return m.write(head)
}

func identity(kind string, old object) string {
	for _, key := range keys {
		if old[key] != nil {
			return kind + " " + key + " " + text(old[key])
		}
	}
	return ""
}

func (m *mapFile) take(line *mapped) {
	id := identity(line.Kind, line.Old)
	if line.Done != "" {
		if o := m.objects[id]; o != nil {
			o.done[line.Done] = true
		}
		return
	}
	line.done = map[string]bool{}
	m.objects[id] = line
	for _, key := range keys {
		if line.Old[key] != nil {
			m.byOld[[3]string{line.Kind, key, text(line.Old[key])}] = line
		}
	}
}

// add notes that an object was made.
func (m *mapFile) add(kind string, old, made object) error {
	line := &mapped{Kind: kind, Old: named(old), New: named(made)}
	m.take(line)
	return m.write(line)
}

// finish notes that a step of an object is done.
func (m *mapFile) finish(o *mapped, step string) error {
	o.done[step] = true
	return m.write(&mapped{Kind: o.Kind, Old: o.Old, Done: step})
}

// of returns what has become of an object, or nil.
func (m *mapFile) of(kind string, old object) *mapped { return m.objects[identity(kind, old)] }

// find returns the new name of an object, or nil.
func (m *mapFile) find(kind, by string, old any) any {
	if o := m.byOld[[3]string{kind, by, text(old)}]; o != nil {
		return o.New[by]
	}
	return nil
}

// named returns the names of an object.
func named(o object) object {
	out := object{}
	for _, key := range keys {
		if o[key] != nil {
			out[key] = o[key]
		}
	}
	return out
}
