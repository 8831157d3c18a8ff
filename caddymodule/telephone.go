package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/apply"
	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/asterisk/jobs"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/authsvc/mail"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// telephone configures the Asterisk of the configuration in use. It implements the seam of the helper endpoints.
type telephone struct {
	db        store.DB
	snapshots *confdsvc.Snapshots
	confd     *rest.Service    // set before the first use
	files     *helpers.Service // so is this
	records   *callrecords.Service

	mu       sync.Mutex
	settings phoneSettings
	mail     *mail.Sender // which may be nil
	begun    bool         // the database is there
	warned   []string
	service  *apply.Service
	stop     context.CancelFunc
	work     sync.WaitGroup
	turn     sync.Mutex // held by the service that runs: the next one waits until it has ended
}

// phoneSettings are what a telephone depends on.
type phoneSettings struct {
	Asterisk
	music, sounds, voicemail string // the folders of music on hold, of sounds and of all voicemails
	mails                    bool   // there is a mail server
}

func newTelephone(db store.DB) *telephone {
	return &telephone{db: db, snapshots: confdsvc.NewSnapshots(db), stop: func() {}}
}

// use makes these the settings. Other ones than before end what is under way first. Faxes are sent by m.
func (t *telephone) use(s phoneSettings, m *mail.Sender) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mail, s.mails = m, m.Enabled()
	if t.service != nil && t.settings == s {
		return
	}
	t.settings = s
	t.service = apply.New(apply.Options{
		DB: t.db,
		Generate: func(ctx context.Context, refused apply.Refused) (apply.Output, error) {
			return t.generate(ctx, s, refused)
		},
		Heard: t.heard, Keep: t.keep, States: t.states,
		ForgetPIN: func(m apply.Mailbox) error { return helpers.ForgetPIN(s.voicemail, m.Context, m.Number) },
		ReadPIN:   func(m apply.Mailbox) (string, error) { return helpers.ChosenPIN(s.voicemail, m.Context, m.Number) },
		KeepPIN: func(ctx context.Context, m apply.Mailbox, pin, last string) (bool, error) {
			return t.storePIN(ctx, m, pin, &last)
		},
		LiveReload: func(ctx context.Context) (bool, error) { return t.follows(ctx, s) },
	}, s.apply())
	t.restart()
}

// audio returns where files of sound are.
func (t *telephone) audio() confdsvc.AudioFolders {
	t.mu.Lock()
	defer t.mu.Unlock()
	folders := confdsvc.AudioFolders{MOH: audio.Folder(t.settings.music), Sounds: audio.Folder(t.settings.sounds)}
	if etc := t.settings.Etc; etc != "" {
		folders.System = audio.Folder(asterisk.SystemSounds(etc))
	}
	return folders
}

// recordings returns where Asterisk keeps what is said in calls.
func (t *telephone) recordings() audio.Folder {
	t.mu.Lock()
	defer t.mu.Unlock()
	return audio.Folder(t.settings.Recordings)
}

// sendFax sends a fax, for [callrecords.Options].
func (t *telephone) sendFax(ctx context.Context, address, text, name string, file io.Reader) error {
	t.mu.Lock()
	m := t.mail
	t.mu.Unlock()
	return m.Fax(ctx, address, text, name, file)
}

// begin begins the work: the database is there.
func (t *telephone) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun = true
	t.restart()
}

// holder returns the name under which this node configures its Asterisk, or "" if it does not.
func (t *telephone) holder() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.service == nil {
		return ""
	}
	return t.service.Holder()
}

// restart ends the service that runs, and runs the current one. The caller holds mu.
func (t *telephone) restart() {
	t.stop()
	if !t.begun || t.service == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.stop = cancel
	service := t.service
	settings := t.settings
	t.work.Go(func() {
		t.turn.Lock()
		defer t.turn.Unlock()
		if on, err := t.follows(ctx, settings); settings.Etc != "" && err == nil && !on { // otherwise the first apply looks
			if _, err := t.generate(ctx, settings, nil); err != nil && ctx.Err() == nil {
				slog.Warn("whether Asterisk's own files stand in the way of the generated ones is not known", "error", err)
			}
		}
		var records sync.WaitGroup
		defer records.Wait()
		if settings.Manager != "" {
			records.Go(func() { t.records.RunFaxes(ctx) })
			records.Go(func() { t.records.Run(ctx, callrecords.Settings{Asterisk: settings.Name, File: settings.Records}) })
		}
		service.Run(ctx)
	})
}

// follows reports whether changes reach Asterisk at once.
func (t *telephone) follows(ctx context.Context, s phoneSettings) (bool, error) {
	if !s.live {
		return false, nil
	}
	return t.snapshots.LiveReload(ctx)
}

// end ends the work, after what is under way.
func (t *telephone) end() {
	t.mu.Lock()
	t.stop()
	t.begun = false
	t.mu.Unlock()
	t.work.Wait()
}

// generate makes the files and the states from what is stored now, without what was refused.
func (t *telephone) generate(ctx context.Context, s phoneSettings, refused apply.Refused) (apply.Output, error) {
	snapshot, err := t.snapshots.Read(ctx)
	if err != nil {
		return apply.Output{}, err
	}
	taken, faults := asterisk.ReadTaken(s.Etc)
	for at, why := range refused {
		taken.Add(at[0], at[1], why)
	}
	files, left, err := asterisk.Generate(snapshot, asterisk.Options{
		Music: musicIn(s.music), DefaultMusic: defaultMusic(s.music), Sounds: soundsIn(s.sounds),
		Interfaces: strings.Fields(s.Interfaces), Own: confdsvc.OwnNames(), LongestCall: s.longest, NoFaxes: asterisk.NoFaxes(s.Recordings, s.mails), Taken: taken,
	})
	if err != nil {
		return apply.Output{}, err
	}
	out := apply.Output{
		Files: generation.Files(files), LeftOut: append(faults, left...),
		Source: fmt.Sprintf("%d users, %d lines and %d extensions", len(snapshot.Users), len(snapshot.Lines), len(snapshot.Extensions)),
	}
	t.warn(out.LeftOut)
	return out, nil
}

// warn logs what meets Asterisk's own files, when that changes.
func (t *telephone) warn(left []leftout.Omission) {
	var lines []string
	for _, o := range left {
		if o.Kind == "file" || o.Kind == "section" || strings.Contains(o.Reason, asterisk.OwnFile) {
			lines = append(lines, o.String())
		}
	}
	t.mu.Lock()
	said := slices.Equal(lines, t.warned)
	t.warned = lines
	t.mu.Unlock()
	if !said && len(lines) > 0 {
		slog.Warn("Asterisk's own files stand in the way of the generated ones", "what", lines)
	}
}

func (t *telephone) states(ctx context.Context) (all []userstate.State, err error) {
	users, err := t.snapshots.Users(ctx)
	for _, u := range users {
		all = append(all, asterisk.StateOf(u)...)
	}
	return all, err
}

// musicIn returns a function that returns the folder of a music on hold in a folder, or "" if there is none.
func musicIn(folder string) func(name string) string {
	return func(name string) string {
		whole, err := filepath.Abs(folder)
		if err != nil {
			return ""
		}
		root, err := os.OpenRoot(whole)
		if err != nil {
			return ""
		}
		defer func() { _ = root.Close() }()
		if info, err := root.Stat(name); err != nil || !info.IsDir() {
			return ""
		}
		return filepath.Join(whole, name)
	}
}

// soundsIn returns the folder of sounds as the dialplan names it, or "" if an application would take a part of its name for something else.
func soundsIn(folder string) string {
	whole, err := filepath.Abs(folder)
	if err != nil || !playable.MatchString(whole) {
		return ""
	}
	return whole
}

// playable are the paths of files that an application of the dialplan can be told.
var playable = regexp.MustCompile(`^[A-Za-z0-9_./+@=-]+$`)

// defaultMusic returns the folder of all music on hold, if there are files in it that are nobody's own.
func defaultMusic(folder string) string {
	whole, err := filepath.Abs(folder)
	if err != nil || !doctor.HasMusic(whole) {
		return ""
	}
	return whole
}

// changed hears of committed changes in confd.
func (t *telephone) changed([]crud.Event) { t.tenantChanged() }

// filesChanged hears which files have to follow a committed change in confd.
func (t *telephone) filesChanged(change confdsvc.FilesChange) {
	t.files.Follow(helpers.Following(change))
}

// undone keeps why files did not follow a change in confd.
func (t *telephone) undone(ctx context.Context, why string) error {
	_, err := ask(t, func(s *apply.Service) (any, error) { return nil, s.Undone(ctx, why) })
	return err
}

// tenantChanged hears of committed changes of tenants, whose objects come and go with them.
func (t *telephone) tenantChanged() {
	if s, err := t.current(); err == nil {
		s.Changed()
	}
}

func (t *telephone) current() (*apply.Service, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.service == nil {
		return nil, apierr.New(apierr.Unavailable, "The gateway is still starting")
	}
	return t.service, nil
}

// ask asks the service of the configuration in use.
func ask[R any](t *telephone, do func(s *apply.Service) (R, error)) (reply R, err error) {
	s, err := t.current()
	if err != nil {
		return reply, err
	}
	return do(s)
}

// Generate implements [helpers.Telephony].
func (t *telephone) Generate(ctx context.Context, asked jobs.Recorder) error {
	_, err := ask(t, func(s *apply.Service) (any, error) { return nil, s.Generate(ctx, asked) })
	return err
}

// Apply implements [helpers.Telephony].
func (t *telephone) Apply(ctx context.Context, o jobs.Options) (jobs.Job, error) {
	return ask(t, func(s *apply.Service) (jobs.Job, error) { return s.Apply(ctx, o) })
}

// Job implements [helpers.Telephony].
func (t *telephone) Job(ctx context.Context, uuid string) (jobs.Job, error) {
	return ask(t, func(s *apply.Service) (jobs.Job, error) { return s.Job(ctx, uuid) })
}

// Preview implements [helpers.Telephony].
func (t *telephone) Preview(ctx context.Context) (jobs.Preview, error) {
	return ask(t, func(s *apply.Service) (jobs.Preview, error) { return s.Preview(ctx) })
}

// Generations implements [helpers.Telephony].
func (t *telephone) Generations(ctx context.Context) (jobs.Generations, error) {
	return ask(t, func(s *apply.Service) (jobs.Generations, error) { return s.Generations(ctx) })
}

// GoBack implements [helpers.Telephony].
func (t *telephone) GoBack(ctx context.Context, generation int64, asked jobs.Recorder) (jobs.Job, error) {
	return ask(t, func(s *apply.Service) (jobs.Job, error) { return s.GoBack(ctx, generation, asked) })
}

// Live implements [helpers.Telephony].
func (t *telephone) Live(ctx context.Context) (jobs.Live, error) {
	return ask(t, func(s *apply.Service) (jobs.Live, error) { return s.Live(ctx) })
}

// Execute implements [helpers.Commands].
func (t *telephone) Execute(ctx context.Context, command string) error {
	_, err := ask(t, func(s *apply.Service) (any, error) { return nil, s.Execute(ctx, command) })
	return err
}

// trunk asks Asterisk how a trunk is, for [confdsvc.Options].
func (t *telephone) trunk(ctx context.Context, endpoint string) (status confdsvc.TrunkStatus, err error) {
	s, err := t.current()
	if err != nil {
		return status, err
	}
	is, err := s.Trunk(ctx, endpoint)
	if err != nil {
		slog.Warn("Asterisk cannot be asked how a trunk is", "error", err)
		return status, apierr.New(apierr.Unavailable, "Asterisk cannot be asked now, or this gateway has none")
	}
	status = confdsvc.TrunkStatus{Loaded: is.Loaded, Registered: is.Registered, Reachable: is.Reachable}
	if is.Latency != nil {
		status.Latency = new(float64(is.Latency.Microseconds()) / 1000)
	}
	return status, nil
}

var _ interface {
	helpers.Telephony
	helpers.Commands
} = (*telephone)(nil)

// statePaths are where confd keeps the state of a user that telephones change, by its name.
var statePaths = map[string]string{
	userstate.DND:           "/services/dnd",
	userstate.IncallFilter:  "/services/incallfilter",
	userstate.CallRecord:    callRecordPath,
	userstate.Unconditional: "/forwards/unconditional",
	userstate.Busy:          "/forwards/busy",
	userstate.NoAnswer:      "/forwards/noanswer",
}

// callRecordPath is that of the user itself, who has the attribute call_record_enabled.
const callRecordPath = "/"

// stateAccesses are all that this process may do in the name of telephones.
var stateAccesses = []string{"confd.users.*.update", "confd.users.*.services.*.update", "confd.users.*.forwards.*.update"}

// usersOf returns the users of SIP endpoints, for [callrecords.Options].
func usersOf(ctx context.Context, c store.Conn, endpoints []string) ([]callrecords.User, error) {
	found, err := confdsvc.UsersOfEndpoints(ctx, c, endpoints)
	users := make([]callrecords.User, len(found))
	for i, u := range found {
		users[i] = callrecords.User(u)
	}
	return users, err
}

// heard returns the state that an event tells, and a function that stores it by the same operation as a client: with its checks, and
// its entry in the audit.
func (t *telephone) heard(event ami.Message) (apply.News, func(ctx context.Context) error) {
	switch event.Event() {
	case cdr.Event:
		t.records.Hear(event.Get)
		return apply.News{}, nil
	case "FullyBooted": // it is sent at the beginning of each connection: there may be records that nobody has heard of
		t.records.CatchUp()
		return apply.News{}, nil
	}
	if event.Event() == asterisk.PINEvent {
		m, pin := apply.Mailbox{Context: event.Get("Context"), Number: event.Get("Mailbox")}, event.Get("NewPassword")
		return apply.PINNews(m, pin), func(ctx context.Context) error {
			_, err := t.storePIN(ctx, m, pin, nil)
			return err
		}
	}
	if event.Event() == "UserEvent" && event.Get("UserEvent") == callrecords.FaxEvent {
		t.records.HearFax(event.Get("File"))
	}
	if event.Event() != "UserEvent" || event.Get("UserEvent") != userstate.Event {
		return apply.News{}, nil
	}
	state := userstate.State{User: event.Get("User"), Name: event.Get("Name"), Value: event.Get("Value")}
	if !isState(state) {
		return apply.News{}, nil
	}
	return apply.StateNews(state), func(ctx context.Context) error { return t.store(ctx, state) }
}

// keep stores what a telephone has changed while nobody heard of it.
func (t *telephone) keep(ctx context.Context, state userstate.State) error {
	if !isState(state) {
		return fmt.Errorf("%q is no state of a user", state.Key())
	}
	return t.store(ctx, state)
}

// isState reports whether a state has a known name, and its user's UUID the form of one.
func isState(s userstate.State) bool {
	id, err := uuid.Parse(s.User)
	return err == nil && id.String() == s.User && statePaths[s.Name] != ""
}

func (t *telephone) store(ctx context.Context, state userstate.State) error {
	path, body := statePaths[state.Name], map[string]any{"enabled": state.On()}
	switch {
	case path == callRecordPath:
		path, body = "", map[string]any{"call_record_enabled": state.On()}
	case strings.HasPrefix(path, "/forwards/") && state.On():
		body["destination"] = state.Value
	}
	caller, err := local.Caller(ctx, t.db, stateAccesses...)
	if err != nil {
		return err
	}
	return local.Call(ctx, t.confd, caller, "", http.MethodPut, "/users/"+state.User+path, body, nil)
}

// pinAccesses are all that this process may do with a PIN that a telephone has chosen.
var pinAccesses = []string{"confd.voicemails.read", "confd.voicemails.*.read", "confd.voicemails.*.update"}

// maxPIN is how many digits a PIN may have in confd.
const maxPIN = 80

// storePIN stores the PIN that a telephone has chosen for a mailbox, if that is one of confd's, and reports whether confd has it now. With
// last, one that confd has changed since it was last stands; without, one that confd changes while this runs. An error has no PIN in it.
func (t *telephone) storePIN(ctx context.Context, m apply.Mailbox, pin string, last *string) (stored bool, err error) {
	if pin == "" || len(pin) > maxPIN || strings.Trim(pin, "0123456789") != "" {
		return false, errors.New("a PIN in confd has up to 80 digits, and nothing else")
	}
	caller, err := local.Caller(ctx, t.db, pinAccesses...)
	if err != nil {
		return false, err
	}
	var found struct{ Items []*confdsvc.Voicemail }
	query := url.Values{"recurse": {"true"}, "context": {m.Context}, "number": {m.Number}}
	if err := local.Call(ctx, t.confd, caller, "", http.MethodGet, "/voicemails?"+query.Encode(), nil, &found); err != nil {
		return false, fmt.Errorf("looking for the voicemail: %w", err)
	}
	for _, v := range found.Items {
		if v.Context != m.Context || v.Number != m.Number {
			continue
		}
		before := asterisk.PIN(v)
		if last != nil {
			before = *last
		}
		err := local.Update(ctx, t.confd, caller, fmt.Sprintf("/voicemails/%d", v.ID), func(now *confdsvc.Voicemail) any {
			current := asterisk.PIN(now)
			if stored = current == pin || current == before; !stored || current == pin {
				return nil
			}
			return map[string]string{"password": pin}
		})
		if refused, ok := errors.AsType[*local.RefusedError](err); ok {
			return false, fmt.Errorf("confd refuses it with status %d", refused.Status)
		}
		return stored && err == nil, err
	}
	return false, nil
}
