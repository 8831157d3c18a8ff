package asterisk

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"voicemail.conf", 0, "general", writeVoicemailGeneral},
		part{"voicemail.conf", 1, "zones", writeZones},
		part{"voicemail.conf", 2, "mailboxes", writeMailboxes},
	)
	destinations["voicemail"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToVoicemail) []step {
		v := p.voicemails.of(tenantUUID, to.VoicemailID)
		if v == nil {
			return nil
		}
		options := ""
		if to.Greeting != nil {
			options = (*to.Greeting)[:1] // b or u
		}
		if to.SkipInstructions {
			options += "s"
		}
		return []step{{"VoiceMail", mailbox(v) + "," + options}, {"Hangup", ""}}
	})
}

// mailForms are the options of mailboxes and of all of them, and generalForms those of all of them alone. None of them names a
// program, which Asterisk would run, or a context. searchcontexts is none of them: with it a mailbox is found without its context, in
// that of another tenant.
var (
	mailForms = forms(map[string]string{
		`yes|no|true|false|on|off|1|0`: `attach delete envelope forcegreetings forcename hidefromdir messagewrap moveheard nextaftercmd operator
			review saycid sayduration sendvoicemail tempgreetwarn`,
		`[0-9]{1,6}`:                 `backupdeleted maxmsg maxsecs minsecs passwordlength saydurationm`,
		`[0-9-]{1,5}(\.[0-9]+)?`:     `volgain`,
		`.*`:                         `emailbody emailsubject emaildateformat fromstring pagerbody pagersubject pagerfromstring pagerdateformat serveremail`,
		`[a-z]{2}_[A-Z]{2}(.UTF-8)?`: `locale language`,
	})
	generalForms = forms(map[string]string{
		`[a-z0-9|]{1,100}`:     `format`,
		`[0-9]{1,6}`:           `maxgreet maxlogins maxsilence minpassword silencethreshold skipms`,
		`[A-Za-z0-9._-]{1,40}`: `charset`,
		`yes|no`:               `usedirectory pollmailboxes`,
		`[*#0-9]`:              `listen-control-forward-key listen-control-reverse-key listen-control-pause-key listen-control-restart-key listen-control-stop-key`,
	})
)

// variableOfMail are the variables that a mail may show. Others could be functions, such as SHELL.
var (
	variableOfMail = regexp.MustCompile(`^\{VM_[A-Z]{2,20}\}`)
	mailEscapes    = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
)

// mailText returns a text of a mail. Its lines are written in one, with the escapes that Asterisk knows; a dollar sign stays only before a
// variable of mails, and a backslash that would begin another escape becomes a slash.
func mailText(typed string) string {
	var out strings.Builder
	escaped := mailEscapes.Replace(strings.ReplaceAll(typed, `\`, "\x00"))
	for i := 0; i < len(escaped); i++ {
		switch c := escaped[i]; {
		case c == 0 && i+1 < len(escaped) && strings.IndexByte("nrt", escaped[i+1]) >= 0:
			out.WriteByte('\\')
		case c == 0:
			out.WriteByte('/')
		case c == '$' && !variableOfMail.MatchString(escaped[i+1:]):
		default:
			out.WriteByte(c)
		}
	}
	return conf.Plain(out.String())
}

func writeVoicemailGeneral(p *plan, w *conf.Writer) {
	options := maps.Clone(p.VoicemailGeneral)
	if options == nil {
		options = map[string]string{}
	}
	if options["format"] == "" {
		options["format"] = "wav"
	}
	if options["charset"] == "" {
		options["charset"] = "UTF-8" // Asterisk's own default would say of names that they are Latin 1
	}
	silence, noSilence := strconv.Atoi(options["maxsilence"])
	if noSilence != nil {
		silence = 0
	}
	if shortest, err := strconv.Atoi(options["minsecs"]); err != nil || shortest <= silence {
		delete(options, "minsecs") // Asterisk warns of one that is not longer than the silence that ends a message
	}
	w.Section("general")
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value := mailText(options[name])
		if name != "language" && conf.Fits(value, maxOptions) && (generalForms.allow(name, value) || mailForms.allow(name, value)) {
			w.Set(name, value)
		}
	}
	// A new PIN is kept in the mailbox's folder: otherwise Asterisk would write into this file.
	w.Set("passwordlocation", "spooldir")
}

// zoneForm is the name of a zone.
var zoneForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,79}$`)

const zoneMessage = "'vm-received' Q 'digits/at' IMp"

func isZone(z confdsvc.ZoneMessage) bool {
	return zoneForm.MatchString(z.Name) && conf.Plain(z.Timezone) == z.Timezone && !strings.Contains(z.Timezone, "|") &&
		conf.Fits(z.Timezone+text(z.Message), maxOptions)
}

func writeZones(p *plan, w *conf.Writer) {
	w.Section("zonemessages")
	for _, z := range byName(p.Zones, func(z confdsvc.ZoneMessage) string { return z.Name }) {
		if !isZone(z) {
			continue
		}
		message := strings.NewReplacer("$", "", "|", "").Replace(conf.Plain(text(z.Message)))
		if strings.TrimSpace(message) == "" {
			message = zoneMessage
		}
		w.Set(z.Name, z.Timezone+"|"+message)
	}
}

func writeMailboxes(p *plan, w *conf.Writer) {
	boxes := slices.Clone(p.Voicemails)
	slices.SortFunc(boxes, func(a, b *confdsvc.Voicemail) int {
		return cmp.Or(strings.Compare(a.Context, b.Context), strings.Compare(a.Number, b.Number))
	})
	zones := map[string]bool{}
	for _, z := range p.Zones {
		zones[z.Name] = isZone(z)
	}
	in := ""
	for _, v := range boxes {
		if v.Context != in {
			in = v.Context
			w.Section(in)
		}
		w.Object(v.Number, mailboxLine(v, zones))
	}
}

// noPIN stands for the PIN of a mailbox without one: nobody can dial it, so only the owner's own telephone opens the mailbox, which
// is not asked.
const noPIN = "none"

// maxOptions is how many bytes the options of a mailbox have at most, and each of all mailboxes: see maxValue.
const maxOptions = 4000

// mailboxLine is PIN,name,e-mail,pager,options. Of an option that is there twice the last value counts; what does not fit is left out.
func mailboxLine(v *confdsvc.Voicemail, zones map[string]bool) string {
	options, size := []string{}, 0
	set := func(name, value string) {
		if option := name + "=" + value; conf.Fits(option, maxOptions-size) {
			options, size = append(options, option), size+len(option)+strings.Count(option, ";")+1
		}
	}
	if zones[text(v.Timezone)] {
		set("tz", *v.Timezone)
	}
	if v.Language != nil && mailForms.allow("language", *v.Language) {
		set("language", *v.Language)
	}
	if v.AttachAudio != nil {
		set("attach", yes(*v.AttachAudio))
	}
	if v.DeleteMessages {
		set("delete", "yes")
	}
	if v.MaxMessages != nil {
		set("maxmsg", strconv.FormatInt(*v.MaxMessages, 10))
	}
	seen := map[string]bool{"attach": true, "delete": true, "maxmsg": true, "language": true}
	last := map[string]string{}
	for _, pair := range v.Options.V {
		last[pair[0]] = conf.Field(mailText(pair[1]))
	}
	for _, pair := range v.Options.V {
		if name := pair[0]; !seen[name] && mailForms.allow(name, last[name]) {
			seen[name] = true
			set(name, last[name])
		}
	}
	return strings.Join([]string{
		PIN(v), conf.Field(v.Name), conf.Field(text(v.Email)), conf.Field(text(v.Pager)), strings.Join(options, "|"),
	}, ",")
}

// PIN returns the PIN of a voicemail as it is in voicemail.conf, which has one for each.
func PIN(v *confdsvc.Voicemail) string {
	if isDigits(text(v.Password)) {
		return *v.Password
	}
	return noPIN
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
