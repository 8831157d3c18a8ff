package helpers

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
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

// remove deletes a mailbox. record is called as soon as it is certain that there is one, and before it is deleted: if we are interrupted
// in between, or Asterisk has begun to use it meanwhile and does not end, the mailbox is still there, and the request can be made again.
func (s spool) remove(ctx context.Context, m mailbox, record func() error) error {
	there, err := s.within(m.Context, func(in folder, bin trash) error {
		return refused(s.discard(ctx, in, m.Number, bin, record))
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
func (s spool) discard(ctx context.Context, in folder, number string, bin trash, record func() error) error {
	if err := s.await(ctx, in, number, false); err != nil {
		return err
	}
	if err := record(); err != nil {
		return err
	}
	if err := s.await(ctx, in, number, false); err != nil { // recording took a while
		return err
	}
	entry, err := bin.take(in, number)
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
	err := s.await(ctx, in, from.Number, true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refused(err)
	}
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
	if err := s.await(ctx, in, from.Number, true); err != nil { // recording took a while
		return refused(err)
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
		err := s.discard(ctx, in, number, bin, recorded)
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

// parameter declares a query parameter whose value has a form, which the handler checks.
func parameter(name, form, description string, required bool) rest.Parameter {
	return rest.Parameter{Name: name, Description: description, Required: required, Schema: &rest.Schema{Type: "string", Pattern: form}}
}

// voicemailOperations delete and move the messages of voicemails. Existing tools do both by GET: another method does the same, and all
// need the access of the change.
func (e *endpoints) voicemailOperations() []rest.Operation {
	remove := rest.Operation{
		Method: http.MethodDelete, Path: "/delete_voicemail", Access: "sysconfd.voicemails.delete",
		ID: "remove_voicemail", Tag: "voicemails", Summary: "Delete the messages and greetings of a voicemail",
		Query: []rest.Parameter{
			parameter("name", numberForm, "The voicemail's number.", false),
			parameter("mailbox", numberForm, "The same as name, which must be sent if this is not.", false),
			parameter("context", contextForm, "The voicemail's context. Default: the tenant's internal context; on the loopback port that of the only tenant.", false),
		},
		Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
		Handle: e.ofFiles(oneMailbox),
	}
	move := rest.Operation{
		Method: http.MethodPost, Path: "/move_voicemail", Access: "sysconfd.voicemails.update",
		ID: "relocate_voicemail", Tag: "voicemails", Summary: "Give the messages and greetings of a voicemail another place",
		Query: []rest.Parameter{
			parameter("old_mailbox", numberForm, "The number until now.", true), parameter("old_context", contextForm, "The context until now.", true),
			parameter("new_mailbox", numberForm, "The number from now on.", true), parameter("new_context", contextForm, "The context from now on.", true),
		},
		Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
		Handle: e.ofFiles(twoMailboxes),
	}
	return []rest.Operation{
		remove, e.get(remove, "delete_voicemail"), move, e.get(move, "move_voicemail"),
		{
			Method: http.MethodDelete, Path: "/voicemails_context", Access: "sysconfd.voicemails_context.delete",
			ID: "delete_voicemails_context", Tag: "voicemails", Summary: "Delete the messages and greetings of all voicemails of a dialling area",
			Query:   []rest.Parameter{parameter("context", contextForm, "The context.", true)},
			Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
			Handle: e.ofFiles(func(r *rest.Request) (f Following, err error) {
				f.Context, _ = r.Query("context")
				return f, checkContext("context", f.Context)
			}),
		},
	}
}

// get is the operation by GET.
func (e *endpoints) get(op rest.Operation, id string) rest.Operation {
	op.Method, op.ID, op.Handle = http.MethodGet, id, e.byGet(op.Handle)
	op.Description = "For existing tools; it needs the same access as the other method."
	return op
}

// withSpool calls do with the open folder of all voicemails. If there is none, there are no voicemails.
func (s *Service) withSpool(do func(spool) error) error {
	f, err := openFolder(s.settings.Load().Voicemail)
	if err != nil {
		return refused(err)
	}
	defer f.close()
	return do(spool{f, s.patience})
}

// ofFiles is the handler of a request for what files have to follow: read returns what that is, in a form that was checked. What is not in the scope
// of the request is refused.
func (e *endpoints) ofFiles(read func(r *rest.Request) (Following, error)) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		f, err := read(r)
		if err != nil {
			return rest.Reply{}, err
		}
		s, err := e.scope(ctx, r)
		if err == nil {
			err = s.has(ctx, &f)
		}
		if err != nil {
			return rest.Reply{}, err
		}
		_, change, do := e.following(ctx, f)
		return done, do(s.change(ctx, r, change))
	}
}

// oneMailbox reads which voicemail a request is about. The context is empty if it names none.
func oneMailbox(r *rest.Request) (f Following, err error) {
	name, named := r.Query("name")
	number, numbered := r.Query("mailbox")
	switch {
	case !named && !numbered:
		return f, apierr.InvalidField("name", "required", "Is required")
	case named && numbered && name != number:
		return f, apierr.InvalidField("mailbox", "duplicate", "Must be the same as name, or left out")
	}
	field := "name"
	if f.Number = name; !named {
		f.Number, field = number, "mailbox"
	}
	var sent bool
	if f.Context, sent = r.Query("context"); sent {
		if err := checkContext("context", f.Context); err != nil {
			return f, err
		}
	}
	return f, checkNumber(field, f.Number)
}

// twoMailboxes reads from where to where a request moves a voicemail.
func twoMailboxes(r *rest.Request) (f Following, err error) {
	for _, of := range []struct {
		number, context *string
		name, in        string
	}{{&f.Number, &f.Context, "old_mailbox", "old_context"}, {&f.ToNumber, &f.ToContext, "new_mailbox", "new_context"}} {
		*of.number, _ = r.Query(of.name)
		*of.context, _ = r.Query(of.in)
		if err := cmp.Or(checkNumber(of.name, *of.number), checkContext(of.in, *of.context)); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (e *endpoints) mohOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodDelete, Path: "/moh", Access: "sysconfd.moh.delete",
		ID: "delete_moh", Tag: "moh", Summary: "Delete the files of a music on hold",
		Query:   []rest.Parameter{parameter("name", mohForm, "The name that confd has given to it.", true)},
		Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
		Handle: e.ofFiles(func(r *rest.Request) (f Following, err error) {
			if f.MOH, _ = r.Query("name"); !mohPattern.MatchString(f.MOH) {
				err = apierr.InvalidField("name", "regex", "Must be the name of a music on hold, moh-<slug>-<uuid>")
			}
			return f, err
		}),
	}}
}
