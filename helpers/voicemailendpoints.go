package helpers

import (
	"context"
	"net/http"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
)

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
		Handle: e.deleteVoicemail,
	}
	move := rest.Operation{
		Method: http.MethodPost, Path: "/move_voicemail", Access: "sysconfd.voicemails.update",
		ID: "relocate_voicemail", Tag: "voicemails", Summary: "Give the messages and greetings of a voicemail another place",
		Query: []rest.Parameter{
			parameter("old_mailbox", numberForm, "The number until now.", true), parameter("old_context", contextForm, "The context until now.", true),
			parameter("new_mailbox", numberForm, "The number from now on.", true), parameter("new_context", contextForm, "The context from now on.", true),
		},
		Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
		Handle: e.moveVoicemail,
	}
	return []rest.Operation{
		remove, e.get(remove, "delete_voicemail"), move, e.get(move, "move_voicemail"),
		{
			Method: http.MethodDelete, Path: "/voicemails_context", Access: "sysconfd.voicemails_context.delete",
			ID: "delete_voicemails_context", Tag: "voicemails", Summary: "Delete the messages and greetings of all voicemails of a context",
			Query:   []rest.Parameter{parameter("context", contextForm, "The context.", true)},
			Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
			Handle: e.deleteContext,
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

func (e *endpoints) deleteVoicemail(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	m, err := mailboxOf(r)
	if err != nil {
		return rest.Reply{}, err
	}
	s, err := e.scope(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	if m.Context == "" {
		m.Context, err = s.internal(ctx)
	} else {
		err = s.context(ctx, m.Context)
	}
	if err != nil {
		return rest.Reply{}, err
	}
	record := s.change(ctx, r, removal(m))
	return done, e.withSpool(func(all spool) error { return all.remove(ctx, m, record) })
}

// mailboxOf reads which voicemail a request is about. The context is empty if it names none.
func mailboxOf(r *rest.Request) (mailbox, error) {
	name, named := r.Query("name")
	number, numbered := r.Query("mailbox")
	switch {
	case !named && !numbered:
		return mailbox{}, apierr.InvalidField("name", "required", "Is required")
	case named && numbered && name != number:
		return mailbox{}, apierr.InvalidField("mailbox", "duplicate", "Must be the same as name, or left out")
	}
	m := mailbox{Number: name}
	field := "name"
	if !named {
		m.Number, field = number, "mailbox"
	}
	var sent bool
	if m.Context, sent = r.Query("context"); sent {
		if err := checkContext("context", m.Context); err != nil {
			return mailbox{}, err
		}
	}
	return m, checkNumber(field, m.Number)
}

func (e *endpoints) moveVoicemail(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	from, err := mailboxIn(r, "old_mailbox", "old_context")
	if err != nil {
		return rest.Reply{}, err
	}
	to, err := mailboxIn(r, "new_mailbox", "new_context")
	if err != nil {
		return rest.Reply{}, err
	}
	s, err := e.scope(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	for _, name := range []string{from.Context, to.Context} {
		if err := s.context(ctx, name); err != nil {
			return rest.Reply{}, err
		}
	}
	record := s.change(ctx, r, relocation(from, to))
	if err := e.withSpool(func(all spool) error { return all.relocate(ctx, from, to, record) }); !isNotFound(err) {
		return done, err
	}
	return done, nil // no voicemail at all: nothing to move
}

func mailboxIn(r *rest.Request, number, in string) (m mailbox, err error) {
	m.Number, _ = r.Query(number)
	m.Context, _ = r.Query(in)
	if err := checkNumber(number, m.Number); err != nil {
		return m, err
	}
	return m, checkContext(in, m.Context)
}

func (e *endpoints) deleteContext(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	name, _ := r.Query("context")
	if err := checkContext("context", name); err != nil {
		return rest.Reply{}, err
	}
	s, err := e.scope(ctx, r)
	if err != nil {
		return rest.Reply{}, err
	}
	if err := s.context(ctx, name); err != nil {
		return rest.Reply{}, err
	}
	record := s.change(ctx, r, contextChange(name))
	if err := e.withSpool(func(all spool) error { return all.removeContext(ctx, name, record) }); !isNotFound(err) {
		return done, err
	}
	return done, nil // no voicemail at all: nothing to delete
}

func isNotFound(err error) bool {
	e := apierr.As(err)
	return e != nil && e.Kind == apierr.NotFound
}

func (e *endpoints) mohOperations() []rest.Operation {
	return []rest.Operation{{
		Method: http.MethodDelete, Path: "/moh", Access: "sysconfd.moh.delete",
		ID: "delete_moh", Tag: "moh", Summary: "Delete the files of a music on hold",
		Query:   []rest.Parameter{parameter("name", mohForm, "The name that confd has given to it.", true)},
		Success: http.StatusOK, Reply: doneSchema(), Statuses: []int{http.StatusNotFound, http.StatusConflict},
		Handle: func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
			name, _ := r.Query("name")
			if err := checkMOH(name); err != nil {
				return rest.Reply{}, err
			}
			s, err := e.scope(ctx, r)
			if err != nil {
				return rest.Reply{}, err
			}
			if err := s.moh(ctx, name); err != nil {
				return rest.Reply{}, err
			}
			return done, removeMOH(e.settings.Load().MOH, name, s.change(ctx, r, mohChange(name)))
		},
	}}
}
