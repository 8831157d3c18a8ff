package confdsvc

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the names of time zones, on every machine

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/internal/rest"
)

// extenForm is a dialled number, or a pattern of numbers.
const extenForm = `^(_[*#0-9_XxZzNn\[\].!-]{1,39}|[*#0-9]{1,40})$`

// holdsSome is what is said of a pattern that has the form, and that Asterisk cannot read, that no number is like, or that every number is like.
const holdsSome = "Must be a number, or a pattern that some numbers are like, and not all"

// The characters of what a search finds objects by, folded: those of extensions in any context, and of provisioning codes.
const (
	extenCharacters        = digits + `+*#_xzn[].!-`
	provisioningCharacters = digits
	digits                 = "0123456789"
)

// reservedSections are names of sections that mean something to the telephone system, or that the generated files have.
var reservedSections = []string{"global", "system", "general", "default", "default_outbound_endpoint"}

// IsReserved reports whether no section of the telephone system's configuration can have a name that somebody chose, whether in capitals or
// not: the telephone system, or the generated files, have it.
func IsReserved(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(reservedSections, name) || strings.HasPrefix(name, "anonymous") || strings.HasPrefix(name, "ringfence")
}

func isSIPSection(name string) bool { return !IsReserved(name) }

// isTimezone refuses the two names that package time treats as special zones.
func isTimezone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != "" && name != "Local"
}

// The text formats of the configuration, each by its name in a struct tag: format:"exten".
func init() {
	rest.RegisterFormats(
		rest.Format{
			Name: "sound-category", Pattern: `^[a-zA-Z0-9][-_.a-zA-Z0-9]{1,127}$`, Example: "menus",
			Doc: "The name of a category of sounds; `system` is that of the sounds that Asterisk brings.",
		},
		rest.Format{Name: "binary", Doc: "Bytes.", Check: func(string) bool { return true }, Message: "Must be bytes"},
		rest.Format{
			Name: "exten", Pattern: extenForm, Check: conf.IsExten, Message: holdsSome, Example: "1000",
			Doc: "A number as it is dialled, or a pattern of numbers behind an underscore.",
		},
		rest.Format{
			Name: "permitted-number", Pattern: `^(?:_?\+?[0-9NXZ*#\-\[\]]+[.!]?){1,40}$`, Example: "_0900X.",
			Check: func(text string) bool { return conf.IsExten(text) || conf.IsExten("_"+text) }, Message: holdsSome,
			Doc: "A number as it is dialled, or a pattern of numbers; the underscore before a pattern may be missing.",
		},
		rest.Format{
			Name: "prefix", Pattern: `^(\+|\+?[0-9#*]+)$`, Example: "+33",
			Doc: "What stands before a number: digits, * and #, behind a plus sign or not, or that alone.",
		},
		rest.Format{
			Name: "context-name", Pattern: `^[A-Za-z0-9_-]{1,79}$`, Example: "default",
			Doc: "The name of a context.",
		},
		rest.Format{
			Name: "host", Pattern: `^[a-zA-Z0-9._:\[\]-]{0,255}$`, Example: "sip.example.org",
			Doc: "The name or the address of a host.",
		},
		rest.Format{
			Name: "sip-section", Pattern: `^[-_.a-zA-Z0-9]{1,79}$`, Check: isSIPSection, Message: "Must not be the name of a section of the telephone system's own",
			Example: "alice", Doc: "The name of a section of the SIP configuration; not `global`, `system`, `general`, `default`, " +
				"`default_outbound_endpoint`, or one that begins with `anonymous` or `ringfence`.",
		},
		rest.Format{
			Name: "caller-id", Pattern: `^"[^"\\]*"( <[+]?[0-9]+>)?$`, Example: `"Alice Martin" <1000>`,
			Doc: "A name between double quotes, and a number between angle brackets if there is one.",
		},
		rest.Format{
			Name: "mailbox", Pattern: `^[0-9]{1,40}$`, Example: "1000",
			Doc: "The number of a mailbox.",
		},
		rest.Format{
			Name: "dialplan-command", Check: isCommand, Message: "Must be an application with arguments, such as Playback(tt-weasels), that does not reach the machine",
			Example: "Playback(tt-weasels)", Doc: "An application of the dialplan with its arguments. What runs programs or reads files is refused.",
		},
		rest.Format{
			Name: "timezone", Check: isTimezone, Message: "Must be the name of a time zone, such as Europe/Paris",
			Example: "Europe/Paris", Doc: "The name of a time zone.",
		},
		rest.Format{
			Name: "locale", Pattern: `^[a-z]{2}_[A-Z]{2}$`, Example: "en_US",
			Doc: "A language and a country, such as de_DE.",
		},
	)
}
