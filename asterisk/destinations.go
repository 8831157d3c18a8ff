package asterisk

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

// destinations write where a call goes, by the destination's type, or its type and kind ("hangup:busy"). Each returns steps that do not
// come back, or nil if the destination leads nowhere. Kinds without a writer lead nowhere. It is filled in by init functions.
var destinations = map[string]func(p *plan, tenantUUID string, d *confdsvc.Destination) []step{
	"hangup:normal":             func(*plan, string, *confdsvc.Destination) []step { return []step{{"Hangup", ""}} },
	"hangup:busy":               with(func(_ *plan, _ string, to *confdsvc.ToTone) []step { return tone("Busy", to.Timeout, "17") }),
	"hangup:congestion":         with(func(_ *plan, _ string, to *confdsvc.ToTone) []step { return tone("Congestion", to.Timeout, "34") }),
	"extension":                 with(toExtension),
	"sound":                     with(toSound),
	"custom":                    with(toCommand),
	"application:disa":          with(toDISA),
	"application:callback_disa": with(toCallback),
	"application:directory": with(func(p *plan, tenantUUID string, to *confdsvc.ToContext) []step {
		return inContext(p, tenantUUID, to.Context, "Directory", to.Context+",%s")
	}),
	"application:fax_to_mail": with(toFax),
	"application:voicemail": with(func(p *plan, tenantUUID string, to *confdsvc.ToContext) []step {
		return inContext(p, tenantUUID, to.Context, "VoiceMailMain", "@"+to.Context)
	}),
}

func init() { parts = append(parts, part{"extensions.conf", 2, "mobiles", writeMobiles}) }

// with makes one of destinations of what writes a destination with these keys.
func with[K any](write func(p *plan, tenantUUID string, to *K) []step) func(p *plan, tenantUUID string, d *confdsvc.Destination) []step {
	return func(p *plan, tenantUUID string, d *confdsvc.Destination) []step {
		return write(p, tenantUUID, d.Keys().(*K))
	}
}

// enters returns the steps, and what enters an object then, or nil if there is none.
func enters[T any](o *T, enter func(o *T) step, steps ...step) []step {
	if o == nil {
		return nil
	}
	return append(steps, enter(o))
}

// lead returns the steps of a tenant's destination, or nil if it leads nowhere.
func (p *plan) lead(tenantUUID string, d *confdsvc.Destination) []step {
	if d == nil {
		return nil
	}
	name, sub := d.Kind()
	if sub != "" {
		name += ":" + sub
	}
	if write := destinations[name]; write != nil {
		return write(p, tenantUUID, d)
	}
	return nil
}

// nowhere ends a call that leads nowhere.
var nowhere = step{"Goto", "ringfence-end,nowhere,1"}

// leadsOn returns the steps of the destination of a tenant's object. If it leads nowhere, and not because that was chosen, it is named as left out.
func (p *plan) leadsOn(of leftout.Omission, attribute string, to *confdsvc.Destination) []step {
	if steps := p.lead(of.TenantUUID, to); steps != nil {
		return steps
	}
	if kind, _ := to.Kind(); kind != "none" {
		p.optionOf(of, "")(attribute, "it leads nowhere: "+p.whyNowhere(of.TenantUUID, to))
	}
	return []step{nowhere}
}

// whyNowhere says why a destination leads nowhere.
func (p *plan) whyNowhere(tenantUUID string, d *confdsvc.Destination) string {
	to, dials := d.Keys().(*confdsvc.ToDISA)
	switch _, sub := d.Kind(); {
	case sub == "fax_to_mail":
		return "faxes are not received: " + p.options.NoFaxes
	case !dials || p.contextOf(tenantUUID, to.Context) == nil:
		return "what it leads to is gone, disabled or left out"
	case sub == "disa":
		return "without a PIN everybody who calls could telephone at the tenant's expense"
	}
	return "only users are called back, and none has a mobile number, of 7 digits or more, that can be dialled in the context " + to.Context
}

// longestRing is for how many seconds a user or a group rings at most: Asterisk would ring for ever with 0, and every call that
// nobody takes would stay.
const longestRing = 10800

// ringSeconds returns for how long something rings. 0 and nil set no limit: then it is the longest.
func ringSeconds(typed *int64) int64 {
	if typed == nil || *typed <= 0 {
		return longestRing
	}
	return min(*typed, longestRing)
}

// ringTime sets for how long the next user or group rings, if the destination says so. 0 leaves it to them.
func ringTime(seconds *float64) []step {
	if seconds != nil && *seconds > 0 {
		return []step{{"Set", fmt.Sprintf("RINGFENCE_SECONDS=%d", int64(math.Ceil(min(*seconds, longestRing))))}}
	}
	return nil
}

// tone plays a tone, for some seconds if the destination says so.
func tone(app string, seconds *float64, cause string) []step {
	args := ""
	if seconds != nil {
		args = fmt.Sprintf("%d", int64(min(*seconds, 86400)))
	}
	return []step{{app, args}, {"Hangup", cause}}
}

// toExtension dials a number in a context of the tenant's own.
func toExtension(p *plan, tenantUUID string, to *confdsvc.ToExtension) []step {
	in := p.contextOf(tenantUUID, to.Context)
	if in == nil || !conf.IsExten(to.Exten) || !p.reaches(in.Name, to.Exten) {
		return nil
	}
	return []step{{"Goto", in.Name + "," + to.Exten + ",1"}}
}

// soundForm is the name of a sound below Asterisk's own folder of sounds: a whole path could be that of somebody's messages, and an
// address would be fetched.
var soundForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}$`)

func isSound(name string) bool { return soundForm.MatchString(name) && !strings.Contains(name, "..") }

// systemSounds is the category of what Asterisk brings, of which it knows the names.
const systemSounds = "system"

// sound returns what a tenant calls a sound as Playback is told it, or "" for what it must not play. A name whose first part is a category of
// the tenant is the tenant's own; all others are those of Asterisk.
func (p *plan) sound(tenantUUID, name string) string {
	category, file, _ := strings.Cut(name, "/")
	switch own := p.sounds[[2]string{tenantUUID, category}]; {
	case !isSound(name):
		return ""
	case category == systemSounds:
		return file
	case own == nil:
		return name
	case p.options.Sounds == "" || strings.Contains(file, "/") || file == "":
		return ""
	default:
		return p.options.Sounds + "/" + own.UUID + "/" + file
	}
}

// soundFault says why callers do not hear what a tenant calls a sound, or nothing. Which sounds Asterisk brings is not known here.
func (p *plan) soundFault(tenantUUID, name string) string {
	category, file, _ := strings.Cut(name, "/")
	own := p.sounds[[2]string{tenantUUID, category}]
	switch {
	case name == "":
		return ""
	case own != nil && p.options.Sounds == "":
		return "there is no folder of sounds that Asterisk reads"
	case p.sound(tenantUUID, name) == "":
		return "it is no name of a sound: a whole path or an address is not played"
	case own != nil && category != systemSounds && !slices.ContainsFunc(own.Files.V, func(f confdsvc.SoundFile) bool { return f.Name == file }):
		return "the category of sounds has none of this name"
	}
	return ""
}

func toSound(p *plan, tenantUUID string, to *confdsvc.ToSound) []step {
	args := p.sound(tenantUUID, to.Filename)
	if args == "" {
		return nil
	}
	if to.Skip {
		args += ",skip"
	}
	if to.NoAnswer {
		return []step{{"Progress", ""}, {"Playback", args + ",noanswer"}, {"Hangup", ""}} // without Progress nothing is heard
	}
	return []step{{"Playback", args}, {"Hangup", ""}}
}

// commandForm is an application with plain arguments. commands are those that only this call hears: others run programs, reach other
// tenants, or write what the dialplan relies on. Nobody hears what silent ones play before the call is answered.
var (
	commandForm = regexp.MustCompile(`^([A-Za-z]{3,40})\(([A-Za-z0-9_.,*# -]{0,200})\)$`)
	commands    = words(`Answer Busy Congestion Echo Hangup Milliwatt MusicOnHold NoOp Playback PlayTones Progress Ringing SayAlpha SayDigits
		SayNumber SayPhonetic Wait`)
	silent = words(`Echo Milliwatt MusicOnHold PlayTones SayAlpha SayDigits SayNumber SayPhonetic`)
)

// words returns the words of a text, by their lower case.
func words(text string) map[string]string {
	out := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		out[strings.ToLower(word)] = word
	}
	return out
}

func toCommand(p *plan, tenantUUID string, to *confdsvc.ToCommand) []step {
	m := commandForm.FindStringSubmatch(to.Command)
	if m == nil || commands[strings.ToLower(m[1])] == "" || strings.Contains(m[2], "..") {
		return nil
	}
	app, args := commands[strings.ToLower(m[1])], strings.TrimSpace(m[2])
	if class, _, _ := strings.Cut(args, ","); app == "MusicOnHold" && p.musicOf(tenantUUID, &class) == "" {
		return nil
	}
	steps := []step{{app, args}, {"Hangup", ""}}
	switch {
	case app == "Playback" && !isSound(strings.Split(args, ",")[0]):
		return nil
	case app == "Playback" && strings.Contains(args, "noanswer"):
		return append([]step{{"Progress", ""}}, steps...)
	case silent[strings.ToLower(app)] != "":
		return append([]step{{"Answer", ""}}, steps...)
	}
	return steps
}

// toDISA lets the caller dial in a context of the tenant's own. Without a PIN everybody who calls could telephone at the tenant's
// expense: then it leads nowhere.
func toDISA(p *plan, tenantUUID string, to *confdsvc.ToDISA) []step {
	if to.PIN == nil || !isDigits(*to.PIN) {
		return nil
	}
	return inContext(p, tenantUUID, to.Context, "DISA", *to.PIN+",%s")
}

// Recordings returns the folder in which an Asterisk keeps what is said in calls, and faxes, or "" if that is not known: it is not on this machine.
// manager is the address of its manager interface.
func Recordings(manager string) string {
	if manager == "" || strings.HasPrefix(manager, "tls://") {
		return ""
	}
	return "/var/spool/asterisk/monitor/ringfence"
}

// NoFaxes says why no faxes are received where the folder of recordings is this one and mails are sent or not, or nothing.
func NoFaxes(recordings string, mails bool) string {
	switch {
	case recordings == "":
		return "this node does not know the folder in which Asterisk leaves them (RINGFENCE_ASTERISK_RECORDINGS)"
	case !mails:
		return "there is no mail server"
	}
	return ""
}

// toFax receives a fax, of which the gateway then sends the file. Its name says whose it is, and not the address: nothing that a caller sends decides
// where it goes.
func toFax(p *plan, tenantUUID string, to *confdsvc.ToMail) []step {
	if p.options.NoFaxes != "" {
		return nil
	}
	return []step{
		{"Answer", ""},
		{"Set", "RINGFENCE_FAX=fax-" + tenantUUID + "-" + to.Key(tenantUUID) + "-${FILTER(0-9A-Za-z._,${UNIQUEID})}.tif"},
		{"Set", "CHANNEL(hangup_handler_push)=ringfence-fax,s,1"},
		{"ReceiveFAX", "${ASTSPOOLDIR}/monitor/ringfence/${RINGFENCE_FAX}"},
		{"Hangup", ""},
	}
}

// toCallback calls users back, and lets them dial in a context of the tenant's own. Without a PIN it is their telephone that says who they are.
func toCallback(p *plan, tenantUUID string, to *confdsvc.ToDISA) []step {
	in := p.contextOf(tenantUUID, to.Context)
	called := func(u *confdsvc.User) bool {
		return u.TenantUUID == tenantUUID && mobileOf(u) != "" && p.reaches(in.Name, mobileOf(u))
	}
	if in == nil || to.PIN != nil && !isDigits(*to.PIN) || !slices.ContainsFunc(p.Users, called) {
		return nil
	}
	pin := "no-password"
	if to.PIN != nil {
		pin = *to.PIN
	}
	return []step{{"Set", "RINGFENCE_PIN=" + pin}, {"Set", "RINGFENCE_CONTEXT=" + in.Name}, {"Goto", "ringfence-callback,s,1"}}
}

// byEnd is how many digits at the end of a number say whose mobile number it is: before them carriers write a country in several ways.
const byEnd = 7

// mobileOf returns the mobile number at which a user can be called back, or "".
func mobileOf(u *confdsvc.User) string {
	if number := dialable(text(u.MobilePhoneNumber)); len(number) >= byEnd && isDigits(number[len(number)-byEnd:]) {
		return number
	}
	return ""
}

// writeMobiles writes whom the ends of mobile numbers belong to, by tenant, for the library's ringfence-callback. Of two users with one end it is the first.
func writeMobiles(p *plan, w *conf.Writer) {
	w.Section("ringfence-mobiles")
	var all []entry
	for _, u := range p.Users {
		if number := mobileOf(u); number != "" {
			exten := u.TenantUUID + "-" + number[len(number)-byEnd:]
			all = append(all, entry{exten: exten, steps: []step{{"Set", "RINGFENCE_TO=" + number}, {"Return", u.UUID}}})
		}
	}
	p.writeEntries(w, all)
}

// inContext runs an application in a context of the tenant's own, of which %s in its arguments is the section.
func inContext(p *plan, tenantUUID, in, app, args string) []step {
	c := p.contextOf(tenantUUID, in)
	if c == nil {
		return nil
	}
	return []step{{"Answer", ""}, {app, strings.ReplaceAll(args, "%s", c.Name)}, {"Hangup", ""}}
}
