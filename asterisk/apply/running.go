package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/generation"
)

// unasked are the files whose content Asterisk cannot be asked for, or not for all of it.
var unasked = map[string]bool{"features.conf": true, "musiconhold.conf": true, "rtp.conf": true}

// running is the Asterisk that runs.
type running struct {
	client *ami.Client
	// warn says what could not be looked at.
	warn func(message string)
	// complaints returns what Asterisk's log has got since it was called last; nil: nobody reads that.
	complaints func(ctx context.Context) []string
	// folder is where this node's files are, and id its name, or "" if that is not known.
	folder, id string
	// sure says that Asterisk has what is live.
	sure bool
	// reloaded says that it has read a file since.
	reloaded bool
}

// maxAsked is how many telephones, or mailboxes, Asterisk is asked for one by one: it takes it long to list all that it has.
const maxAsked = 20

// dispensable are the modules without which telephones work all the same, each with what does not.
var dispensable = map[string]string{
	"cdr_manager": "records of calls may not come", "cdr_custom": "records of calls may not come", "res_hep": "no signalling is captured (HEP)",
	"chan_iax2": "no calls go by IAX",
}

// Reload implements [generation.Asterisk].
func (a *running) Reload(ctx context.Context, module string) error {
	a.reloaded = true
	err := a.client.Reload(ctx, module)
	refused, ok := errors.AsType[*ami.ReloadError](err)
	if without := dispensable[module]; ok && without != "" {
		a.warn(without + ": " + err.Error())
		return nil
	}
	if ok && refused.Missing {
		return fmt.Errorf("%w: %w", generation.ErrNoModule, err)
	}
	return err
}

// Verify implements [generation.Asterisk]: Asterisk must have the content of each file that it can be asked about, with every telephone,
// queue and mailbox that has changed, and its log must name none of the telephones as faulty. What is missing, or named, is a [refusedError].
// What the account may not ask for is left out: a reload has said whether it worked.
func (a *running) Verify(ctx context.Context, from, files generation.Files) error {
	if !a.sure {
		from = nil
	}
	if err := a.checkFolder(ctx); err != nil {
		return err
	}
	var said []string
	if a.complaints != nil && a.reloaded { // of what it was told it has answered already
		said = a.complaints(ctx)
	}
	refused := named(files, said)
	var unread error
	for _, one := range []struct {
		file, what string
		modules    string // what to look for in modules.conf
		verify     func(ctx context.Context, f *conf.File) (missing []string, err error)
	}{
		{"pjsip.conf", "telephones", "res_pjsip", a.missingEndpoints},
		{"pjsip.conf", "trunks", "res_pjsip_outbound_registration, res_pjsip_endpoint_identifier_ip", func(ctx context.Context, f *conf.File) ([]string, error) {
			return a.missingTrunks(ctx, from["pjsip.conf"], files["pjsip.conf"], f)
		}},
		{"queues.conf", "queues", "app_queue", a.missing(sectionNames, ami.Queues, nil)},
		{
			"voicemail.conf", "mailboxes", "app_voicemail, and noload for app_voicemail_odbc and app_voicemail_imap, which take its place",
			a.missing(mailboxNames, ami.Mailboxes, ami.HasMailbox),
		},
		{"res_parking.conf", "parking lots", "res_parking", a.missing(sectionNames, ami.ParkingLots, nil)},
		{"confbridge.conf", "profiles of conferences", "app_confbridge", a.missing(sectionNames, profiles, nil)},
		{"rtp.conf", "ports of voices", "res_rtp_asterisk", a.verifyPorts},
		{"extensions.conf", "contexts", "pbx_config", a.verifyDialplan},
	} {
		if files[one.file] == nil {
			continue
		}
		f, err := conf.Parse(toVerify(one.file, from, files))
		var missing []string
		if err == nil {
			missing, err = one.verify(ctx, f)
		}
		if slices.ContainsFunc(missing, isStamp) {
			missing, err = nil, &unreadError{one.file, one.what}
		}
		for _, name := range missing {
			refused.add(one.file, name, "Asterisk has not loaded it")
		}
		no, ok := errors.AsType[*ami.ResponseError](err)
		if ok && strings.Contains(no.Message, "Permission denied") {
			a.warn("whether all " + one.what + " are there is not known: the manager account may not ask (action " + no.Action + ")")
			continue
		}
		if ok && strings.HasPrefix(no.Message, "Invalid/unknown command") {
			return fmt.Errorf("this Asterisk has no %s: a module is not loaded, or has been replaced by another one for the same (%s): %w", one.what, one.modules, err)
		}
		if _, is := errors.AsType[*unreadError](err); is {
			unread = errors.Join(unread, err)
		} else if err != nil {
			return err
		}
	}
	if unread != nil && len(said) > 0 {
		unread = fmt.Errorf("%w. Its log says: %s", unread, strings.Join(said[:min(len(said), 3)], "; "))
	}
	if len(refused) > 0 {
		return &refusedError{refused, unread}
	}
	return unread
}

// toVerify returns what of a file Asterisk is asked about.
func toVerify(name string, from, files generation.Files) []byte {
	if from[name] == nil {
		return files[name]
	}
	if _, come := conf.Differences(name, from[name], files[name]); len(come) > 0 {
		return come
	}
	return stampOf(name, files[name])
}

func (a *running) missingEndpoints(ctx context.Context, f *conf.File) ([]string, error) {
	if err := a.verifyTelephones(ctx, f); err != nil {
		return nil, err
	}
	telephones := func(f *conf.File) []string {
		return slices.DeleteFunc(sectionsOf(f, "endpoint"), func(name string) bool { return name == folderContext })
	}
	return a.missing(telephones, ami.Endpoints, func(ctx context.Context, d ami.Doer, name string) (bool, error) {
		has, err := ami.Endpoint(ctx, d, name)
		return len(has) > 0, err
	})(ctx, f)
}

// missingTrunks returns the trunks that Asterisk does not register, or does not know by their addresses. It is an error if it still registers one
// that is gone.
func (a *running) missingTrunks(ctx context.Context, before, after []byte, f *conf.File) (missing []string, err error) {
	want, kept := sectionsOf(f, "registration"), sectionsIn(after, "registration")
	gone := slices.DeleteFunc(sectionsIn(before, "registration"), func(name string) bool { return slices.Contains(kept, name) })
	if len(want)+len(gone) > 0 {
		has, err := ami.Registrations(ctx, a.client)
		if err != nil {
			return nil, err
		}
		for _, name := range gone {
			if _, is := has[name]; is {
				return nil, fmt.Errorf("the trunk %q is gone, and Asterisk still registers it", name)
			}
		}
		missing = slices.DeleteFunc(want, func(name string) bool { _, is := has[name]; return is })
	}
	identified := sectionsOf(f, "identify")
	if len(identified) > 0 {
		a.checkOrder(ctx)
	}
	for _, name := range identified {
		has, err := ami.Endpoint(ctx, a.client, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(has, func(m ami.Message) bool { return m.Event() == "IdentifyDetail" }) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// checkOrder warns of an Asterisk that takes telephones behind a trunk's address for the trunk: it reads only when it starts that names come first.
// An account that may not ask is no fault.
func (a *running) checkOrder(ctx context.Context) {
	order, err := ami.Command(ctx, a.client, "pjsip show identifiers")
	byName := slices.IndexFunc(order, func(line string) bool { return strings.TrimSpace(line) == "username" })
	byAddress := slices.IndexFunc(order, func(line string) bool { return strings.TrimSpace(line) == "ip" })
	if err == nil && byAddress >= 0 && byAddress < byName {
		a.warn("Asterisk asks for the address of who calls before the name, so that telephones behind a trunk's address are taken for the trunk: " +
			"it reads endpoint_identifier_order only when it starts. Restart it")
	}
}

// sectionsIn returns the names of the sections of a type, of a file that was generated.
func sectionsIn(text []byte, kind string) []string {
	f, _ := conf.Parse(text)
	return sectionsOf(f, kind)
}

func sectionsOf(f *conf.File, kind string) (names []string) {
	for _, section := range f.Sections {
		if is, _ := section.Get("type"); is == kind && !section.Template {
			names = append(names, section.Name)
		}
	}
	return names
}

// sectionNames returns the names of the sections that name one thing each.
func sectionNames(f *conf.File) (names []string) {
	for _, section := range f.Sections {
		if section.Name != "general" {
			names = append(names, section.Name)
		}
	}
	return names
}

// mailboxNames returns the mailboxes, as number@context.
func mailboxNames(f *conf.File) (names []string) {
	for _, section := range f.Sections {
		for _, v := range section.Values {
			if section.Name != "general" && section.Name != "zonemessages" {
				names = append(names, v.Name+"@"+section.Name)
			}
		}
	}
	return names
}

// profiles returns the names of the profiles and menus of conferences that Asterisk has.
func profiles(ctx context.Context, d ami.Doer) (map[string]bool, error) {
	there := map[string]bool{}
	for _, kind := range []string{"profile bridges", "profile users", "menus"} {
		lines, err := ami.Command(ctx, d, "confbridge show "+kind)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			there[strings.TrimSpace(line)] = true
		}
	}
	return there, nil
}

// verifyPorts reads back between which ports voices are sent. Of an Asterisk that does not tell it nothing is known.
func (a *running) verifyPorts(ctx context.Context, f *conf.File) (missing []string, err error) {
	general := f.Section("general")
	if general == nil {
		return nil, nil
	}
	lines, err := ami.Command(ctx, a.client, "rtp show settings")
	for option, says := range map[string]string{"rtpstart": "Port start:", "rtpend": "Port end:"} {
		want, is := general.Get(option)
		for _, line := range lines {
			if has, told := strings.CutPrefix(strings.TrimSpace(line), says); is && told && strings.TrimSpace(has) != want {
				return nil, &unreadError{"rtp.conf", "ports"}
			}
		}
	}
	return nil, err
}

// missing returns what returns which of the names of a file Asterisk has not. It is asked for few one by one, where one can be asked for.
func (a *running) missing(
	names func(f *conf.File) []string, all func(context.Context, ami.Doer) (map[string]bool, error), one func(context.Context, ami.Doer, string) (bool, error),
) func(ctx context.Context, f *conf.File) ([]string, error) {
	return func(ctx context.Context, f *conf.File) (missing []string, err error) {
		want := names(f)
		if len(want) == 0 { // and perhaps no module that could be asked
			return nil, nil
		}
		if one == nil || len(want) > maxAsked {
			there, err := all(ctx, a.client)
			if err != nil {
				return nil, err
			}
			return slices.DeleteFunc(want, func(name string) bool { return there[name] }), nil
		}
		for _, name := range want {
			has, err := one(ctx, a.client, name)
			if err != nil {
				return nil, err
			}
			if !has {
				missing = append(missing, name)
			}
		}
		return missing, nil
	}
}
