package confdsvc

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// QueueOptions are the options of a queue in queues.conf: pairs of a name and a value, each once.
type QueueOptions struct{ store.JSON[[][]string] }

// JSONSchema returns a list of pairs.
func (QueueOptions) JSONSchema() *rest.Schema {
	two, most, longest := 2, 100, 256
	pair := &rest.Schema{Type: "array", Items: &rest.Schema{Type: "string", MaxLength: &longest}, MinItems: &two, MaxItems: &two}
	return &rest.Schema{
		Doc:  "Options of queues.conf, as pairs of a name and a value. A new queue also has the usual ones that are not sent.",
		Type: "array", Items: pair, MaxItems: &most, Default: json.RawMessage("[]"),
	}
}

// newQueueOptions are those that a new queue has, where the client sends no others.
var newQueueOptions = [][]string{
	{"timeout", "15"},
	{"queue-youarenext", "queue-youarenext"},
	{"queue-thereare", "queue-thereare"},
	{"queue-callswaiting", "queue-callswaiting"},
	{"queue-holdtime", "queue-holdtime"},
	{"queue-minutes", "queue-minutes"},
	{"queue-seconds", "queue-seconds"},
	{"queue-thankyou", "queue-thankyou"},
	{"queue-reporthold", "queue-reporthold"},
	{"periodic-announce", "queue-periodic-announce"},
	{"announce-frequency", "0"},
	{"periodic-announce-frequency", "0"},
	{"announce-round-seconds", "0"},
	{"announce-holdtime", "no"},
	{"retry", "5"},
	{"wrapuptime", "0"},
	{"maxlen", "0"},
	{"servicelevel", "0"},
	{"strategy", "ringall"},
	{"memberdelay", "0"},
	{"weight", "0"},
	{"timeoutpriority", "conf"},
	{"setqueueentryvar", "yes"},
	{"setqueuevar", "yes"},
	{"setinterfacevar", "no"},
	{"autofill", "yes"},
	{"autopause", "no"},
	{"ringinuse", "no"},
	{"reportholdtime", "no"},
	{"timeoutrestart", "no"},
	{"min-announce-frequency", "60"},
	{"random-periodic-announce", "no"},
	{"announce-position", "yes"},
	{"announce-position-limit", "5"},
}

// emptyWord is a state of members who count as absent.
const emptyWord = `(penalty|paused|inuse|ringing|unavailable|invalid|unknown|wrapup)`

// queueOptionKinds are the options that a queue may have. What would run something, or lead calls where the tenant has nothing, is none.
var queueOptions = optionSet{kinds: kinds(
	countForm.called(`announce-frequency announce-position-limit announce-round-seconds maxlen memberdelay min-announce-frequency
		periodic-announce-frequency retry servicelevel timeout weight wrapuptime`),
	yesNoForm.called(`autofill random-periodic-announce reportholdtime ringinuse setinterfacevar setqueueentryvar setqueuevar timeoutrestart`),
	oneOf("yes", "no", "once").called("announce-holdtime"),
	oneOf("yes", "no", "limit", "more").called("announce-position"),
	oneOf("no", "yes", "all").called("autopause"),
	oneOf("ringall", "leastrecent", "fewestcalls", "random", "rrmemory", "rrordered", "linear", "wrandom").called("strategy"),
	oneOf("app", "conf").called("timeoutpriority"),
	oneOf("no", "mixmonitor").called("monitor-type"),
	oneOf("wav", "wav49", "gsm").called("monitor-format"),
	valueForm{
		`yes|no|strict|loose|` + emptyWord + `(,` + emptyWord + `){0,7}`,
		"yes, no, strict, loose, or a list of penalty, paused, inuse, ringing, unavailable, invalid, unknown and wrapup",
	}.called("joinempty leavewhenempty"),
	soundForm.called(`announce queue-callswaiting queue-holdtime queue-minutes queue-reporthold queue-seconds queue-thankyou queue-thereare
		queue-youarenext`),
	valueForm{`[A-Za-z0-9_-][A-Za-z0-9_/-]{0,99}(,[A-Za-z0-9_-][A-Za-z0-9_/-]{0,99})*`, "the names of sounds, with commas"}.called("periodic-announce"),
	valueForm{`[a-zA-Z0-9_-]{1,79}`, "the name of a context of the tenant"}.called("context"),
	never("Asterisk would run what it names", "membergosub membermacro"),
	never("the rules of queues are made of skill rules", "defaultrule"),
)}

// complete adds what a new queue has and the client did not send.
func (o *QueueOptions) complete() {
	for _, pair := range newQueueOptions {
		if _, sent := o.Option(pair[0]); !sent {
			o.V = append(o.V, slices.Clone(pair))
		}
	}
}

// Option returns the value of an option, and whether there is one.
func (o *QueueOptions) Option(name string) (string, bool) {
	if i := slices.IndexFunc(o.V, func(pair []string) bool { return pair[0] == name }); i >= 0 {
		return o.V[i][1], true
	}
	return "", false
}

// QueueOptionFault says why a queue cannot have an option, or nothing.
func QueueOptionFault(name, value string) string { return queueOptions.fault(name, value) }

// checkQueueOptions refuses what no queue may have, what is there twice, and another tenant's context.
func checkQueueOptions(ctx context.Context, c store.Conn, change *crud.Change[Queue]) error {
	if change.New.Name == "general" {
		return apierr.InvalidField("name", "reserved", "Is a section of Asterisk's own")
	}
	o := &change.New.Options
	for i, pair := range o.V {
		if err := queueOptions.refuse("options", pair[0], pair[1]); err != nil {
			return err
		}
		if slices.ContainsFunc(o.V[:i], func(before []string) bool { return before[0] == pair[0] }) {
			return apierr.New(apierr.Invalid, "'options: %s' is there twice", pair[0]).On("options")
		}
		if pair[0] == "context" {
			if err := notForeign(ctx, c, change.New.TenantUUID, "options", pair[0], pair[1]); err != nil {
				return err
			}
		}
	}
	return nil
}
