package helpers

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringfence/ringfence/internal/apierr"
)

// mailbox is where the messages of a voicemail are: <spool>/<context>/<number>.
type mailbox struct {
	Number  string `json:"mailbox"`
	Context string `json:"context"`
}

// String returns the mailbox as Asterisk writes it.
func (m mailbox) String() string { return m.Number + "@" + m.Context }

// The forms of the name of a context and of the number of a voicemail.
const (
	contextForm = `^[A-Za-z0-9_-]{1,79}$`
	numberForm  = `^[0-9]{1,40}$`
)

var (
	contextPattern = regexp.MustCompile(contextForm)
	numberPattern  = regexp.MustCompile(numberForm)
)

func checkContext(field, name string) error {
	if !contextPattern.MatchString(name) {
		return apierr.InvalidField(field, "regex", "Must be the name of a context: 1 to 79 letters, digits, - and _")
	}
	return nil
}

func checkNumber(field, number string) error {
	switch {
	case numberPattern.MatchString(number):
		return nil
	case contextPattern.MatchString(number): // no number, but harmless: no voicemail has that name
		return notFound()
	default:
		return apierr.InvalidField(field, "regex", "Must be the number of a voicemail: 1 to 40 digits")
	}
}

// errLinked refuses what is not a folder of the tree itself.
func errLinked(err error) error {
	return &apierr.Error{Kind: apierr.Conflict, Message: "A file or a symbolic link is where the folder should be; it is left as it is", Err: err}
}

// spool is the open folder of all voicemails, with what waits for Asterisk.
type spool struct {
	folder
	patience
}

// held is a mailbox whose locks are taken.
type held struct {
	folder
	release func()
}

// hold opens a mailbox and takes its locks; if still is set, when nothing is being recorded. The error is fs.ErrNotExist if there
// is none.
func (s spool) hold(ctx context.Context, in folder, number string, still bool, j *journal) (held, error) {
	for range 5 {
		box, err := in.enter(number)
		if err != nil {
			return held{}, err
		}
		if still {
			err = s.quiet(ctx, box)
		}
		var release func()
		if err == nil {
			release, err = s.lock(ctx, box, j)
		}
		if err != nil {
			box.close()
			return held{}, err
		}
		// While the locks were waited for, another request may have moved the mailbox away.
		now, err := in.root.Lstat(number)
		if err == nil && box.is(now) {
			return held{box, func() { release(); box.close() }}, nil
		}
		release()
		box.close()
		if err != nil {
			return held{}, err
		}
	}
	return held{}, errBusy()
}

// remove deletes a mailbox. record is called as soon as it is certain that there is one, and before it is deleted: if we are interrupted
// in between, the mailbox is still there, and the request can be made again.
func (s spool) remove(ctx context.Context, m mailbox, record func() error) error {
	there, err := s.within(m.Context, func(in folder, bin trash) error {
		return refused(s.discard(ctx, in, m, bin, record))
	})
	if err == nil && !there {
		err = notFound()
	}
	return err
}

// within opens a context and the trash, runs do with both, and reports whether there is such a context.
func (s spool) within(name string, do func(in folder, bin trash) error) (there bool, err error) {
	in, err := s.enter(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return true, refused(err)
	}
	defer in.close()
	bin, err := openTrash(s.folder)
	if err != nil {
		return true, err
	}
	defer bin.close()
	return true, do(in, bin)
}

// discard moves a mailbox of a context into the trash and removes it there.
func (s spool) discard(ctx context.Context, in folder, m mailbox, bin trash, record func() error) error {
	j, err := bin.begin(m)
	if err != nil {
		return err
	}
	defer j.end()
	box, err := s.hold(ctx, in, m.Number, false, j)
	if err != nil {
		return err
	}
	defer box.release()
	if err := record(); err != nil {
		return err
	}
	entry, err := bin.take(in, m.Number)
	if err != nil {
		return err
	}
	bin.remove(entry)
	return nil
}

// relocate gives a mailbox another place. A mailbox that does not exist has no messages: then there is nothing to do. What is at the
// new place already is kept, and refuses the move.
func (s spool) relocate(ctx context.Context, from, to mailbox, record func() error) error {
	_, err := s.within(from.Context, func(in folder, bin trash) error { return s.relocateFrom(ctx, in, bin, from, to, record) })
	return err
}

func (s spool) relocateFrom(ctx context.Context, in folder, bin trash, from, to mailbox, record func() error) error {
	j, err := bin.begin(from, to)
	if err != nil {
		return err
	}
	defer j.end()
	box, err := s.hold(ctx, in, from.Number, true, j)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refused(err)
	}
	defer box.release()
	into, err := s.enterOrMake(to.Context, in, bin)
	if err != nil {
		return refused(err)
	}
	defer into.close()
	if _, err := into.root.Lstat(to.Number); err == nil {
		return errTaken()
	}
	if err := record(); err != nil {
		return err
	}
	err = in.move(from.Number, into, to.Number)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTDIR) {
		return errTaken()
	}
	return refused(err)
}

func errTaken() error {
	return apierr.New(apierr.Conflict, "There is a voicemail at the new place already, and it is kept")
}

// enterOrMake opens a context's folder. If there is none, it makes one like another.
func (s spool) enterOrMake(name string, model folder, bin trash) (folder, error) {
	f, err := s.enter(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := s.makeLike(name, model, bin); err != nil {
		return folder{}, err
	}
	return s.enter(name)
}

// contextPatience is how long the deletion of a context waits for all its mailboxes.
const contextPatience = 20 * time.Second

// removeContext deletes all mailboxes of a context, one after the other, and then its folder. If one is in use, it stays, as do those
// after it: the request can be made again.
func (s spool) removeContext(ctx context.Context, name string, record func() error) error {
	_, err := s.within(name, func(in folder, bin trash) error { return s.empty(ctx, in, bin, name, record) })
	return err
}

// empty deletes the mailboxes of a context, and the context.
func (s spool) empty(ctx context.Context, in folder, bin trash, name string, record func() error) error {
	names, err := in.names()
	if err != nil {
		return err
	}
	if err := record(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, contextPatience, errBusy())
	defer cancel()
	recorded := func() error { return nil }
	for _, number := range names {
		err := s.discard(ctx, in, mailbox{number, name}, bin, recorded)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotFolder) { // a file goes with the context
			return err
		}
	}
	entry, err := bin.take(s.folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		bin.remove(entry)
	}
	return err
}

// refused turns what a folder says into what a client reads.
func refused(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound()
	case errors.Is(err, errNotFolder):
		return errLinked(err)
	default:
		return err
	}
}
