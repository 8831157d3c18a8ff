package confdsvc

import (
	"regexp"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// IAXGeneral is the section general of iax.conf.
type IAXGeneral struct {
	Section
	Ordered iaxCodecs `db:"ordered_options" json:"ordered_options" required:"true" example:"[[\"disallow\", \"all\"], [\"allow\", \"ulaw\"]]"`
}

// iaxCodecs are the options of which the order counts: those that choose codecs.
type iaxCodecs struct{ SIPOptions }

var codecsForm = regexp.MustCompile(`^[a-z0-9,:!]{1,200}$`)

// JSONSchema returns a list of pairs.
func (iaxCodecs) JSONSchema() *rest.Schema {
	s := SIPOptions{}.JSONSchema()
	s.Doc = "Options whose order counts, as pairs of a name and a value: allow and disallow, with codecs."
	s.Check = func(value any) []apierr.Field {
		for _, item := range value.([]any) {
			pair := item.([]any)
			name, _ := pair[0].(string)
			if codecs, _ := pair[1].(string); name != "allow" && name != "disallow" || !codecsForm.MatchString(codecs) {
				return []apierr.Field{{Constraint: "enum", Value: "allow", Message: "Must be allow or disallow, with codecs"}}
			}
		}
		return nil
	}
	return s
}

// IAXCallNumberLimits are how many calls may come by IAX from addresses at once.
type IAXCallNumberLimits struct {
	TenantUUID string                        `db:"tenant_uuid" json:"-"`
	Items      store.JSON[[]CallNumberLimit] `db:"items" json:"items" required:"true" maxItems:"1000" default:"[]" doc:"The limits."`
}

// CallNumberLimit is the limit of a network.
type CallNumberLimit struct {
	IPAddress string `json:"ip_address" required:"true" pattern:"^[0-9a-fA-F.:]{2,39}$" example:"192.0.2.0" doc:"The first address of the network."`
	Netmask   string `json:"netmask" required:"true" pattern:"^[0-9a-fA-F.:]{2,39}$" example:"255.255.255.0" doc:"Its mask."`
	Limit     int64  `json:"limit" required:"true" minimum:"0" maximum:"32767" doc:"How many calls may come from there at once."`
}

func init() {
	declareSection[IAXGeneral](asteriskSection{
		path: "iax/general",
		first: map[string]string{
			"bindport": "4569", "bindaddr": "0.0.0.0", "iaxthreadcount": "10", "iaxmaxthreadcount": "100", "iaxcompat": "no", "authdebug": "yes",
			"delayreject": "no", "trunkfreq": "20", "trunktimestamps": "yes", "minregexpire": "60", "maxregexpire": "60", "bandwidth": "high",
			"jitterbuffer": "no", "forcejitterbuffer": "no", "maxjitterbuffer": "1000", "maxjitterinterps": "10", "resyncthreshold": "1000",
			"amaflags": "default", "adsi": "no", "transfer": "yes", "language": "fr_FR", "mohinterpret": "default", "encryption": "no", "maxauthreq": "3",
			"codecpriority": "host", "rtcachefriends": "yes", "rtupdate": "yes", "rtignoreregexpire": "yes", "rtautoclear": "no", "pingtime": "20",
			"lagrqtime": "10", "nochecksums": "no", "autokill": "yes", "calltokenoptional": "0.0.0.0",
		},
		optionSet: optionSet{kinds: kinds(
			yesNoForm.called(`adsi allowfwdownload authdebug delayreject forceencryption forcejitterbuffer iaxcompat jitterbuffer nochecksums rtautoclear rtcachefriends
				rtignoreregexpire rtupdate shrinkcallerid srvlookup trunktimestamps`),
			valueForm{`yes|no|[0-9]{1,6}`, "yes, no, or a number of milliseconds"}.called("autokill"),
			valueForm{`yes|no|aes128`, "yes, no or aes128"}.called("encryption"),
			oneOf("yes", "no", "mediaonly").called("transfer"),
			oneOf("low", "medium", "high").called("bandwidth"),
			oneOf("host", "caller", "disabled", "reqonly").called("codecpriority"),
			oneOf("default", "omit", "billing", "documentation").called("amaflags"),
			countForm.called(`cos jittertargetextra maxauthreq maxcallnumbers maxcallnumbers_nonvalidated maxjitterbuffer maxjitterinterps resyncthreshold
				trunkmaxsize trunkmtu`),
			positiveForm.called("iaxmaxthreadcount iaxthreadcount lagrqtime maxregexpire minregexpire pingtime trunkfreq"),
			valueForm{`[1-9][0-9]{0,4}`, "a port"}.called("bindport"),
			valueForm{`[0-9a-fA-F.:]{2,39}`, "an address"}.called("bindaddr"),
			valueForm{`[0-9a-fA-F.:]{2,39}(/[0-9.]{1,15})?`, "an address or a network"}.called("calltokenoptional"),
			valueForm{`[a-z]{2,3}(_[A-Z]{2})?`, "a language, such as en or fr_FR"}.called("language"),
			valueForm{codecsForm.String(), "codecs, such as ulaw"}.called("allow disallow"),
			wordForm.called("accountcode mohinterpret mohsuggest parkinglot tos"),
			never("Asterisk would write numbers into a context by itself", "regcontext"),
			never("registrations are those of /registers/iax", "register"),
		)},
	})
	words["/asterisk/iax/general"], words["/asterisk/iax/callnumberlimits"] = "settings of IAX", "limits of calls by IAX"
	clientIDs["read_asterisk_iax_callnumberlimits"] = "list_asterisk_iax_callnumberlimits"
	setting(crud.Resource[IAXCallNumberLimits]{Path: "asterisk/iax/callnumberlimits", Table: "confd_iax_callnumberlimits", Scope: crud.Master})
}
