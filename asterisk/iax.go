package asterisk

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() { parts = append(parts, part{"iax.conf", 0, "iax", writeIAX}) }

// iaxForms are the forms of an IAX endpoint's options that are written as they are.
var iaxForms = forms(map[string]string{
	`yes|no|true|false|on|off|1|0`:               `adsi forceencryption forcejitterbuffer immediate jitterbuffer keyrotate qualifysmoothing sendani trunk`,
	`yes|no|aes128`:                              `encryption`,
	`yes|no|auto`:                                `requirecalltoken`,
	`yes|no|mediaonly`:                           `transfer`,
	`yes|no|[0-9]{1,6}`:                          `qualify`,
	`[0-9]{1,6}`:                                 `maxauthreq port qualifyfreqnotok qualifyfreqok`,
	`(plaintext|md5)(,(plaintext|md5))?`:         `auth`,
	`host|caller|disabled|reqonly`:               `codecpriority`,
	`default|omit|billing|documentation`:         `amaflags`,
	`[a-z]{2,3}(_[A-Z]{2})?`:                     `language`,
	`[0-9a-fA-F.:]{2,39}`:                        `defaultip mask sourceaddress`,
	`[0-9a-fA-F.:]{2,39}(/[0-9a-fA-F.:]{1,39})?`: `deny permit`,
	`[a-z0-9,:!]{1,200}`:                         `allow disallow`,
	`[A-Za-z0-9_/+-]{1,60}`:                      `timezone`,
})

// iaxApart are options that are not written as they are.
var iaxApart = []string{"secret", "username", "context", "setvar", "callerid", "accountcode", "host", "type"}

// iaxOf returns the IAX endpoint of a trunk, or nil if it has none of its tenant.
func (p *plan) iaxOf(t *confdsvc.Trunk) *confdsvc.EndpointIAX {
	return p.iax.of(t.TenantUUID, p.TrunkIAX[t.ID])
}

// iaxFault says why no call goes by an IAX endpoint, or nothing.
func (p *plan) iaxFault(x *confdsvc.EndpointIAX) string {
	if why := cmp.Or(wrongName(x.Name), p.taken(x.Name, "iax.conf")); why != "" {
		return "its endpoint: " + why
	}
	for _, option := range []string{"username", "secret"} {
		if value, _ := x.Options.Last(option); confdsvc.LoginFault(value) != "" {
			return "the " + option + " of its endpoint " + confdsvc.LoginFault(value)
		}
	}
	port, _ := x.Options.Last("port")
	address, err := netip.ParseAddr(x.Host)
	here := strings.EqualFold(x.Host, "localhost") || err == nil && (address.IsLoopback() || address.IsUnspecified()) ||
		slices.Contains(p.options.Own, strings.ToLower(x.Host))
	if here && cmp.Or(port, iaxPort) == cmp.Or(p.Section("iax/general")["bindport"], iaxPort) {
		return "it leads to this Asterisk itself: its calls would come back for ever"
	}
	return ""
}

// iaxPort is the port of IAX where none is said.
const iaxPort = "4569"

// writeIAX writes iax.conf if anything goes by IAX, or is set of it: without, Asterisk needs no chan_iax2.
func writeIAX(p *plan, w *conf.Writer) {
	trunks := slices.DeleteFunc(slices.Clone(p.Trunks), func(t *confdsvc.Trunk) bool { return p.iaxOf(t) == nil })
	if len(trunks)+len(p.IAXLimits) == 0 && p.Sections["iax/general"] == nil {
		return
	}
	w.Section("general")
	if port := p.Section("iax/general")["bindport"]; confdsvc.OptionFault("iax/general", "bindport", port) == "" {
		w.Set("bindport", port) // it counts only before bindaddr
	}
	p.writeOptionsOf(w, "iax.conf", "iax/general", "bindport")
	for _, pair := range p.IAXCodecs {
		if iaxForms.allow(pair[0], pair[1]) && strings.HasSuffix(pair[0], "allow") {
			w.Set(pair[0], pair[1])
		}
	}
	for _, t := range trunks {
		p.writeIAXRegister(w, t)
	}
	if len(p.IAXLimits) > 0 {
		w.Section("callnumberlimits")
		for _, l := range p.IAXLimits {
			if network := l.IPAddress + "/" + l.Netmask; conf.IsName(network) {
				w.Set(network, fmt.Sprint(l.Limit))
			}
		}
	}
	for _, t := range trunks {
		p.writeIAXTrunk(w, t, p.iaxOf(t))
	}
}

// registerForm is a part of the line by which Asterisk registers: others would end it early.
var registerForm = regexp.MustCompile(`^[^@:/?#;"\[\]\s]*$`)

// writeIAXRegister writes where a trunk registers, if it does.
func (p *plan) writeIAXRegister(w *conf.Writer, t *confdsvc.Trunk) {
	r := p.registersIAX.of(t.TenantUUID, p.TrunkRegister[t.ID])
	if r == nil || !r.Enabled {
		return
	}
	for _, one := range []string{text(r.AuthUsername), text(r.AuthPassword), r.RemoteHost, text(r.CallbackExtension)} {
		if !registerForm.MatchString(one) || conf.Plain(one) != one {
			p.optionOf(p.namedTrunk(t), "")("register_iax", "Asterisk could not read the line: it does not register")
			return
		}
	}
	line := r.RemoteHost
	if r.RemotePort != nil && *r.RemotePort > 0 {
		line += fmt.Sprintf(":%d", *r.RemotePort)
	}
	if user := text(r.AuthUsername); user != "" {
		line = user + strings.TrimSuffix(":"+text(r.AuthPassword), ":") + "@" + line
	}
	if exten := text(r.CallbackExtension); exten != "" {
		line += "/" + exten
	}
	w.Object("register", line)
}

// writeIAXTrunk writes another system. Without a secret everybody could call in by its name: so it is for calls out alone.
func (p *plan) writeIAXTrunk(w *conf.Writer, t *confdsvc.Trunk, x *confdsvc.EndpointIAX) {
	named := p.namedTrunk(t)
	omit := p.optionOf(named, "options.")
	secret, _ := x.Options.Last("secret")
	kind := x.Type
	if secret == "" && kind != "peer" {
		p.optionOf(named, "")("type", "it has no secret: calls only go out by it, as those of a peer")
		kind = "peer"
	}
	w.Section(x.Name)
	w.Set("type", kind)
	if kind != "user" {
		w.Set("host", x.Host)
	}
	if user, _ := x.Options.Last("username"); user != "" {
		w.Set("username", user)
	}
	if secret != "" {
		w.Set("secret", secret)
	}
	w.Set("context", p.comesIn(t, named))
	if typed, _ := x.Options.Last("callerid"); typed != "" && conf.Fits(typed, maxValue) {
		w.Set("callerid", conf.ParseCallerID(conf.Plain(typed)).String())
	}
	w.Set("accountcode", t.TenantUUID)
	writeOptions(w, x.Options, iaxForms, omit, iaxApart...)
	if !hasForm(x.Options, iaxForms, "allow") {
		w.Set("disallow", "all")
		w.Set("allow", "ulaw,alaw")
	}
	w.Set("setvar", "__WAZO_TENANT_UUID="+t.TenantUUID)
	w.Set("setvar", "WAZO_CHANNEL_DIRECTION=from-wazo")
	w.Set("setvar", fmt.Sprintf("__RINGFENCE_TRUNK=%d", t.ID))
	for _, pair := range x.Options.V {
		if pair[0] == "setvar" {
			omit("setvar", noForm)
		}
	}
}
