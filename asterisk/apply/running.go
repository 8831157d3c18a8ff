package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/asterisk/ami"
	"github.com/ringfence/ringfence/internal/asterisk/conf"
	"github.com/ringfence/ringfence/internal/asterisk/generation"
)

// running is the Asterisk that runs.
type running struct {
	client *ami.Client
	// warn says what could not be looked at.
	warn func(message string)
	// folder is where this node's files are, and id its name, or "" if that is not known.
	folder, id string
}

// Reload implements [generation.Asterisk].
func (a *running) Reload(ctx context.Context, module string) error {
	err := a.client.Reload(ctx, module)
	if refused, ok := errors.AsType[*ami.ReloadError](err); ok && refused.Missing {
		return fmt.Errorf("%w: %w", generation.ErrNoModule, err)
	}
	return err
}

// Verify implements [generation.Asterisk]: every telephone, queue and mailbox must be there, and some contexts. What the account may not
// ask for is left out: a reload has said whether it worked.
func (a *running) Verify(ctx context.Context, files generation.Files) error {
	if err := a.checkFolder(ctx); err != nil {
		return err
	}
	for _, one := range []struct {
		file, what string
		modules    string // what to look for in modules.conf
		verify     func(ctx context.Context, f *conf.File) error
	}{
		{"pjsip.conf", "telephones", "res_pjsip", a.verifyEndpoints},
		{"queues.conf", "queues", "app_queue", a.verifyQueues},
		{"voicemail.conf", "mailboxes", "app_voicemail; modules.conf needs noload for app_voicemail_odbc and app_voicemail_imap, which take its place", a.verifyMailboxes},
		{"extensions.conf", "contexts", "pbx_config", a.verifyContexts},
	} {
		text, ok := files[one.file]
		if !ok {
			continue
		}
		f, err := conf.Parse(text)
		if err == nil {
			err = one.verify(ctx, f)
		}
		refused, ok := errors.AsType[*ami.ResponseError](err)
		if ok && strings.Contains(refused.Message, "Permission denied") {
			a.warn("whether all " + one.what + " are there is not known: the manager account may not ask (action " + refused.Action + ")")
			continue
		}
		if ok && strings.HasPrefix(refused.Message, "Invalid/unknown command") {
			return fmt.Errorf("this Asterisk has no %s: a module is not loaded, or has been replaced by another one for the same (%s): %w", one.what, one.modules, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *running) verifyEndpoints(ctx context.Context, f *conf.File) error {
	var want []string
	for _, section := range f.Sections {
		if kind, _ := section.Get("type"); kind == "endpoint" && !section.Template {
			want = append(want, section.Name)
		}
	}
	return a.verifyNames(ctx, "endpoint", want, ami.Endpoints)
}

func (a *running) verifyQueues(ctx context.Context, f *conf.File) error {
	var want []string
	for _, section := range f.Sections {
		if section.Name != "general" {
			want = append(want, section.Name)
		}
	}
	return a.verifyNames(ctx, "queue", want, ami.Queues)
}

func (a *running) verifyMailboxes(ctx context.Context, f *conf.File) error {
	var want []string
	for _, section := range f.Sections {
		if section.Name == "general" || section.Name == "zonemessages" {
			continue
		}
		for _, v := range section.Values {
			want = append(want, v.Name+"@"+section.Name)
		}
	}
	return a.verifyNames(ctx, "mailbox", want, ami.Mailboxes)
}

// verifyNames checks that Asterisk has all of a kind that the files have.
func (a *running) verifyNames(ctx context.Context, kind string, want []string, ask func(context.Context, ami.Doer) (map[string]bool, error)) error {
	if len(want) == 0 {
		return nil
	}
	there, err := ask(ctx, a.client)
	if err != nil {
		return err
	}
	for _, name := range want {
		if !there[name] {
			return fmt.Errorf("the %s %q is missing after the reload", kind, name)
		}
	}
	return nil
}

// maxRead is how many contexts are read back.
const maxRead = 20

func (a *running) verifyContexts(ctx context.Context, f *conf.File) error {
	d, err := conf.ParseDialplan(f)
	if err != nil {
		return err
	}
	contexts := d.Contexts[:min(len(d.Contexts), maxRead/2)]
	contexts = append(slices.Clone(contexts), d.Contexts[max(len(contexts), len(d.Contexts)-maxRead/2):]...)
	for _, c := range contexts {
		if len(c.Steps) == 0 {
			continue
		}
		there, err := ami.HasContext(ctx, a.client, c.Name)
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("the context %q is missing after the reload", c.Name)
		}
	}
	return nil
}
