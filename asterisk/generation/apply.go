package generation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"
)

// Asterisk is the telephone system that reads the live files.
type Asterisk interface {
	// Reload makes a module read its files again, and returns an error unless it has accepted them.
	Reload(ctx context.Context, module string) error
	// Verify returns an error if something that the files have is not there. What they share with those that were live before, from, was
	// there already, unless that is nil.
	Verify(ctx context.Context, from, files Files) error
}

// Changer is an Asterisk that can be told how a module's files differ. It reports whether Asterisk has now what it would read from the new
// ones; if not, the module is reloaded: it may have a part of that.
type Changer interface {
	Change(ctx context.Context, module string, from, to Files) bool
}

// ErrNoModule is what Reload returns for a module that is not loaded, which has read nothing: on the way back it needs no reload.
var ErrNoModule = errors.New("the module is not loaded")

// Change is the way from one generation to another.
type Change struct {
	From    int64        `json:"from"` // 0: nothing was live
	To      int64        `json:"to"`
	Files   []FileChange `json:"files"`
	Modules []string     `json:"modules"` // in the order of their reloads
}

// RolledBackError says that a generation was taken back, and that the one before it is live and loaded again.
type RolledBackError struct{ Err error }

func (e *RolledBackError) Error() string {
	return "the generation before is live again: " + e.Err.Error()
}

// Unwrap returns why.
func (e *RolledBackError) Unwrap() error { return e.Err }

// PendingError says that a change was interrupted, and that Asterisk has not yet reloaded the generation before it. That is live
// again: an Asterisk that starts reads it. Recover does the rest.
type PendingError struct{ Err error }

func (e *PendingError) Error() string {
	return "the files of the generation before are live again, but Asterisk has not reloaded them: " + e.Err.Error()
}

// Unwrap returns why.
func (e *PendingError) Unwrap() error { return e.Err }

// rollbackTime bounds the way back, which goes on when the caller has given up.
const rollbackTime = 30 * time.Minute

// Plan returns what making a generation live would change.
func (s *Store) Plan(n int64) (Change, error) {
	c, _, _, err := s.plan(n)
	return c, err
}

func (s *Store) plan(n int64) (c Change, from, to Files, err error) {
	live, err := s.Live()
	if err != nil {
		return c, nil, nil, err
	}
	_, to, err = s.Read(n)
	if err != nil {
		return c, nil, nil, err
	}
	_, from, err = s.Read(live)
	if err != nil {
		return c, nil, nil, err
	}
	c = Change{From: live, To: n, Files: Compare(from, to)}
	c.Modules = modules(c.Files, from, to)
	return c, from, to, nil
}

// Apply makes a generation live: it swaps the files, reloads the modules that read what changed, and verifies the result. If
// anything fails, the generation before becomes live again: the error is then a [RolledBackError], or a [PendingError] if Asterisk
// could not be told. With any other error nothing was changed. Without an asterisk only the files are swapped.
//
// confirm, if set, is asked last before the swap; its error stops the change. report, if set, hears of each module, in order.
func (s *Store) Apply(ctx context.Context, n int64, asterisk Asterisk, confirm func() error, report func(module string, err error)) (c Change, err error) {
	if report == nil {
		report = func(string, error) {}
	}
	err = s.locked(ctx, func() error {
		if j, err := s.journal(); err != nil {
			return err
		} else if j != nil {
			return &PendingError{errors.New("an earlier change was interrupted")}
		}
		var from, files Files
		if c, from, files, err = s.plan(n); err != nil {
			return err
		}
		if c.From == c.To {
			return nil
		}
		if confirm != nil {
			if err := confirm(); err != nil {
				return err
			}
		}
		return s.apply(ctx, c, from, files, asterisk, report)
	})
	if err != nil {
		return c, fmt.Errorf("applying generation %d: %w", n, err)
	}
	return c, nil
}

// apply does the steps of Apply that can be interrupted; see the package.
func (s *Store) apply(ctx context.Context, c Change, from, files Files, asterisk Asterisk, report func(string, error)) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := s.replace(journalName, append(text, '\n')); err != nil {
		return err
	}
	err = s.point(c.To)
	for _, module := range c.Modules {
		if asterisk == nil || err != nil {
			break
		}
		if changer, ok := asterisk.(Changer); !ok || !changer.Change(ctx, module, from, files) {
			err = asterisk.Reload(ctx, module)
		}
		report(module, err)
	}
	if err == nil && asterisk != nil {
		if err = asterisk.Verify(ctx, from, files); err != nil {
			err = fmt.Errorf("reading back: %w", err)
		}
	}
	if err == nil {
		if err := s.finish(); err != nil {
			return &PendingError{err} // the next start takes it back
		}
		return nil
	}
	failed := s.replace(path.Join(folderOf(c.To), failedName), []byte(err.Error()+"\n"))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	if back := s.rollBack(ctx, c, asterisk); back != nil {
		return &PendingError{errors.Join(err, back, failed)}
	}
	return &RolledBackError{errors.Join(err, failed)}
}

// Reload makes Asterisk read these live files, or all if none is named, as if each had changed, and verifies what it has then. It takes
// nothing back, and changes no content: interrupted, it can be done again.
func (s *Store) Reload(ctx context.Context, asterisk Asterisk, names ...string) error {
	return s.locked(ctx, func() error {
		live, err := s.Live()
		if err != nil {
			return err
		}
		_, files, err := s.Read(live)
		if err != nil {
			return err
		}
		read := maps.Clone(files)
		maps.DeleteFunc(read, func(name string, _ []byte) bool { return len(names) > 0 && !slices.Contains(names, name) })
		for name := range read {
			if err := s.Touch(name); err != nil {
				return err
			}
		}
		for _, module := range modules(Compare(nil, read), nil, read) {
			if err := asterisk.Reload(ctx, module); err != nil {
				return err
			}
		}
		return asterisk.Verify(ctx, nil, files)
	})
}

// rollBack makes the generation before a change live, and reloads every module of the change: whether one has read anything of it
// is not known. One that fails does not keep the others from it. It can be done again.
func (s *Store) rollBack(ctx context.Context, c Change, asterisk Asterisk) error {
	if err := s.point(c.From); err != nil {
		return err
	}
	var errs []error
	if asterisk != nil {
		for _, module := range slices.Backward(c.Modules) {
			if err := asterisk.Reload(ctx, module); err != nil && !errors.Is(err, ErrNoModule) {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return s.finish()
}

// finish removes the journal: from then on the change is final.
func (s *Store) finish() error {
	if err := s.root.Remove(journalName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.sync(".")
}

// Interrupted reports whether there is a change for Recover.
func (s *Store) Interrupted() (bool, error) {
	j, err := s.journal()
	return j != nil, err
}

// Recover completes the way back from a change that was interrupted, and reports whether there was one. An error is a
// [PendingError]: Recover is called again when Asterisk can be reached.
func (s *Store) Recover(ctx context.Context, asterisk Asterisk) (interrupted bool, err error) {
	err = s.locked(ctx, func() error {
		j, err := s.journal()
		if err != nil || j == nil {
			return err
		}
		interrupted = true
		if err := s.rollBack(ctx, *j, asterisk); err != nil {
			return &PendingError{err}
		}
		return nil
	})
	return interrupted, err
}
