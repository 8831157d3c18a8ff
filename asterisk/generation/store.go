package generation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringfence/ringfence/internal/private"
)

// The names in a store's folder.
const (
	generations  = "generations"
	liveName     = "live"
	journalName  = "applying"
	manifestName = "MANIFEST"
	failedName   = "FAILED"
	unfinished   = ".tmp"
)

// Modes of what is written, whatever the umask is: passwords are in it. If new files get the folder's group (it is setgid), that
// group, which is Asterisk's, may read too.
const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
	groupMode  fs.FileMode = 0o050
)

// Files are generated files, by name.
type Files = map[string][]byte

// Generation says what a generation is made of.
type Generation struct {
	Number int64 `json:"generation"`
	// Source says what it was generated from, in the generator's words.
	Source  string    `json:"source"`
	Created time.Time `json:"created_at"`
	// Files are the SHA-256 sums of the files, in hexadecimal.
	Files map[string]string `json:"files"`
}

// Store is a folder of generations. It is safe for concurrent use, also by several processes.
type Store struct {
	root   *os.Root
	lock   string
	keep   int
	shared bool // the folder's group may read

	mu     sync.Mutex
	recent map[int64]loaded // what was read since Forget, by number
}

// loaded is a generation that was read, with what its files were then: it is as it was while they are.
type loaded struct {
	Generation
	files Files
	infos map[string]fs.FileInfo
}

// maxRecent is how many generations are kept in memory: a job reads the live one, and the one that it makes, several times.
const maxRecent = 2

// Forget gives back the memory of what was read.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = nil
}

// Open opens the folder, which it makes if it is missing, and tidies what was interrupted; see the package. keep is how many
// generations stay at least, besides the live one.
func Open(ctx context.Context, folder string, keep int) (*Store, error) {
	if err := os.MkdirAll(folder, folderMode); err != nil {
		return nil, fmt.Errorf("making the folder of Asterisk's configuration: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of Asterisk's configuration: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s := &Store{root: root, lock: filepath.Join(folder, "lock"), keep: max(keep, 1), shared: info.Mode()&fs.ModeSetgid != 0}
	if err := s.locked(ctx, s.tidy); err != nil {
		return nil, errors.Join(fmt.Errorf("tidying the folder of Asterisk's configuration: %w", err), root.Close())
	}
	return s, nil
}

// Close closes the folder.
func (s *Store) Close() error { return s.root.Close() }

// Folder returns the path of the folder whose files Asterisk reads.
func (s *Store) Folder() string { return filepath.Join(s.root.Name(), liveName) }

// locked runs fn while nobody else writes in the folder. It waits for its turn until ctx ends.
func (s *Store) locked(ctx context.Context, fn func() error) (err error) {
	for {
		lock, err := private.TryLock(s.lock)
		if err == nil {
			defer func() { _ = lock.Close() }()
			return fn()
		}
		if _, held := errors.AsType[*private.InUseError](err); !held {
			return fmt.Errorf("locking the folder of Asterisk's configuration: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the folder of Asterisk's configuration: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Store) tidy() error {
	if err := s.mkdir(generations); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := fs.ReadDir(s.root.FS(), generations)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinished) {
			if err := s.root.RemoveAll(path.Join(generations, e.Name())); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{liveName + unfinished, journalName + unfinished} {
		if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if j, err := s.journal(); err != nil {
		return err
	} else if j != nil {
		return s.point(j.From)
	}
	return nil
}

// numbers returns the numbers of the finished generations, in ascending order.
func (s *Store) numbers() ([]int64, error) {
	entries, err := fs.ReadDir(s.root.FS(), generations)
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && n > 0 && e.Name() == strconv.FormatInt(n, 10) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

func folderOf(n int64) string { return path.Join(generations, strconv.FormatInt(n, 10)) }

// Live returns the number of the live generation, or 0.
func (s *Store) Live() (int64, error) {
	target, err := s.root.Readlink(liveName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading which generation is live: %w", err)
	}
	n, err := strconv.ParseInt(path.Base(target), 10, 64)
	if err != nil || target != folderOf(n) {
		return 0, fmt.Errorf("reading which generation is live: %q is none of ours", target)
	}
	return n, nil
}

// point makes n the live generation, or none if it is 0. It is on disk when point returns.
func (s *Store) point(n int64) error {
	if n == 0 {
		if err := s.root.Remove(liveName); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return s.sync(".")
	}
	const beside = liveName + unfinished
	if err := s.root.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.root.Symlink(folderOf(n), beside); err != nil {
		return err
	}
	if err := s.root.Rename(beside, liveName); err != nil {
		return err
	}
	return s.sync(".")
}

// Read returns a generation and its files, which must be as they were staged, and which nobody may change. Generation 0 has none.
func (s *Store) Read(n int64) (Generation, Files, error) {
	if n == 0 {
		return Generation{}, Files{}, nil
	}
	g, files, err := s.read(n)
	if err != nil {
		return g, nil, fmt.Errorf("reading generation %d: %w", n, err)
	}
	return g, files, nil
}

// manifest reads what a generation is made of.
func (s *Store) manifest(n int64) (g Generation, err error) {
	text, err := s.root.ReadFile(path.Join(folderOf(n), manifestName))
	if err != nil {
		return g, err
	}
	if err := json.Unmarshal(text, &g); err != nil {
		return g, fmt.Errorf("%s: %w", manifestName, err)
	}
	if g.Number != n {
		return g, fmt.Errorf("%s is that of generation %d", manifestName, g.Number)
	}
	return g, nil
}

func (s *Store) read(n int64) (g Generation, files Files, err error) {
	if g, err = s.manifest(n); err != nil {
		return g, nil, err
	}
	infos := map[string]fs.FileInfo{}
	for name := range g.Files {
		if !fileName.MatchString(name) {
			return g, nil, fmt.Errorf("%s: %q is no name of a file", manifestName, name)
		}
		info, err := s.root.Lstat(path.Join(folderOf(n), name))
		if err != nil {
			return g, nil, err
		}
		if !info.Mode().IsRegular() {
			return g, nil, fmt.Errorf("%s is not a regular file", name)
		}
		infos[name] = info
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.recent[n]; ok && maps.Equal(r.Files, g.Files) && maps.EqualFunc(r.infos, infos, unchanged) {
		return g, r.files, nil
	}
	files = Files{}
	for name, sum := range g.Files {
		content, err := s.root.ReadFile(path.Join(folderOf(n), name))
		if err != nil {
			return g, nil, err
		}
		if sumOf(content) != sum {
			return g, nil, fmt.Errorf("%s is not as it was generated", name)
		}
		files[name] = content
	}
	if s.recent == nil {
		s.recent = map[int64]loaded{}
	}
	s.recent[n] = loaded{g, files, infos}
	if len(s.recent) > maxRecent {
		delete(s.recent, slices.Min(slices.Collect(maps.Keys(s.recent))))
	}
	return g, files, nil
}

// unchanged reports whether a file is the same, with the same content.
func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// fileName is the form of a generated file's name.
var fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,60}\.conf$`)

// Stage writes a generation and returns it. What is live stays as it is. If the newest generation has the same files, and has not
// failed, it is returned instead. It is on disk when Stage returns.
func (s *Store) Stage(ctx context.Context, files Files, source string) (g Generation, err error) {
	for name := range files {
		if !fileName.MatchString(name) || !isRead(name) {
			return g, fmt.Errorf("staging: Asterisk has no module for a file %q", name)
		}
	}
	err = s.locked(ctx, func() error {
		all, err := s.numbers()
		if err != nil {
			return err
		}
		if len(all) > 0 {
			newest := all[len(all)-1]
			have, content, err := s.read(newest)
			if err == nil && !s.failed(newest) && maps.EqualFunc(content, files, slices.Equal) {
				g = have
				return nil
			}
		}
		g = Generation{Number: 1, Source: source, Created: time.Now().UTC(), Files: map[string]string{}}
		if len(all) > 0 {
			g.Number = all[len(all)-1] + 1
		}
		if err := s.stage(g, files, all); err != nil {
			return err
		}
		return s.prune()
	})
	if err != nil {
		return g, fmt.Errorf("staging: %w", err)
	}
	return g, nil
}

// Touch gives a live file the time of now: Asterisk, which skips a file that is as it was, reads it once more when it is told to.
func (s *Store) Touch(name string) error {
	live, err := s.Live()
	if err == nil {
		err = s.root.Chtimes(path.Join(folderOf(live), name), time.Time{}, time.Now())
	}
	if err != nil {
		return fmt.Errorf("touching a live file: %w", err)
	}
	return nil
}

// List returns the finished generations, the newest first, without those whose manifest cannot be read, and why some have failed, by number.
func (s *Store) List() (all []Generation, failed map[int64]string, err error) {
	numbers, err := s.numbers()
	if err != nil {
		return nil, nil, fmt.Errorf("listing the generations: %w", err)
	}
	failed = map[int64]string{}
	for _, n := range slices.Backward(numbers) {
		g, err := s.manifest(n)
		if err != nil {
			continue // damaged, or pruned meanwhile
		}
		all = append(all, g)
		if why, err := s.root.ReadFile(path.Join(folderOf(n), failedName)); err == nil {
			failed[n] = strings.TrimSpace(string(why))
		}
	}
	return all, failed, nil
}

func (s *Store) failed(n int64) bool {
	_, err := s.root.Lstat(path.Join(folderOf(n), failedName))
	return err == nil
}

// stage writes the files of g, of which it fills in the sums, under a temporary name, and renames that.
func (s *Store) stage(g Generation, files Files, others []int64) error {
	live, err := s.Live()
	if err != nil {
		return err
	}
	_, current, err := s.Read(live)
	if err != nil {
		current = nil // a damaged generation lends no files
	}
	final := folderOf(g.Number)
	beside := final + unfinished
	if err := s.root.RemoveAll(beside); err != nil {
		return err
	}
	if err := s.mkdir(beside); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		g.Files[name] = sumOf(content)
		at := path.Join(beside, name)
		if old, ok := current[name]; ok && slices.Equal(old, content) && s.root.Link(path.Join(folderOf(live), name), at) == nil {
			continue
		}
		if err := s.write(at, content); err != nil {
			return err
		}
		if err := s.separate(at, name, others); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	if err := s.write(path.Join(beside, manifestName), append(text, '\n')); err != nil {
		return err
	}
	if err := s.sync(beside); err != nil {
		return err
	}
	if err := s.root.Rename(beside, final); err != nil {
		return err
	}
	return s.sync(generations)
}

// separate gives a new file another time than that of every other version with its size: Asterisk would take it for that one.
func (s *Store) separate(at, name string, others []int64) error {
	info, err := s.root.Stat(at)
	if err != nil {
		return err
	}
	taken := map[int64]bool{}
	for _, n := range others {
		if other, err := s.root.Lstat(path.Join(folderOf(n), name)); err == nil && other.Size() == info.Size() {
			taken[other.ModTime().UnixNano()] = true
		}
	}
	when := info.ModTime()
	if !taken[when.UnixNano()] {
		return nil
	}
	for taken[when.UnixNano()] {
		when = when.Add(time.Millisecond)
	}
	return s.root.Chtimes(at, when, when)
}

// write writes a new file, which is on disk when it returns; its name is when its folder is synced.
func (s *Store) write(name string, content []byte) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	if s.shared {
		err = f.Chmod(fileMode | groupMode&0o040)
	}
	if err == nil {
		_, err = f.Write(content)
	}
	return errors.Join(cmp.Or(err, f.Sync()), f.Close())
}

// mkdir makes a folder, which keeps the bit by which its files get its group.
func (s *Store) mkdir(name string) error {
	if err := s.root.Mkdir(name, folderMode); err != nil || !s.shared {
		return err
	}
	return s.root.Chmod(name, folderMode|groupMode|fs.ModeSetgid)
}

// replace writes a small file as a whole: it is the old one or the new one at every moment.
func (s *Store) replace(name string, content []byte) error {
	if err := s.root.Remove(name + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.write(name+unfinished, content); err != nil {
		return err
	}
	if err := s.root.Rename(name+unfinished, name); err != nil {
		return err
	}
	return s.sync(path.Dir(name))
}

func (s *Store) sync(folder string) error {
	d, err := s.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// prune removes the oldest generations, but not the live one, which is also the one to which an interrupted change goes back: Open,
// and the end of Apply, have made it live before anything can be staged.
func (s *Store) prune() error {
	all, err := s.numbers()
	if err != nil {
		return err
	}
	live, err := s.Live()
	if err != nil {
		return err
	}
	for _, n := range all[:max(0, len(all)-s.keep)] {
		if n == live {
			continue
		}
		// Under its temporary name, what an interruption leaves is removed by the next Open.
		if err := s.root.Rename(folderOf(n), folderOf(n)+unfinished); err != nil {
			return err
		}
		if err := s.root.RemoveAll(folderOf(n) + unfinished); err != nil {
			return err
		}
	}
	return nil
}

// journal returns the change under way, or nil.
func (s *Store) journal() (*Change, error) {
	f, err := s.root.Open(journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	j := new(Change)
	if err := json.Unmarshal(text, j); err != nil {
		return nil, fmt.Errorf("%s: %w", journalName, err)
	}
	return j, nil
}
