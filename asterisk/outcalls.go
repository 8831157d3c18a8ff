package asterisk

import (
	"cmp"
	"crypto/md5" //nolint:gosec // a sum that Asterisk can make, and that keeps no secret
	"fmt"
	"regexp"
	"slices"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"extensions.conf", 2, "outcalls", writeOutcalls},
		part{"extensions.conf", 2, "outgoing callers", writeOutgoingCallers},
		part{"extensions.conf", 2, "outgoing limits", writeLimits},
	)
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, o := range p.Outcalls {
			for _, x := range o.Extensions {
				if p.extensions.at(confdsvc.ID(x.ID)) != nil {
					add(x.Context, entry{exten: x.Exten, steps: p.goesOut(o, &x, "${FILTER(0-9*#+,${EXTEN})}", fmt.Sprintf("${FILTER(0-9*#+,${EXTEN:%d})}", x.StripDigits))})
				}
			}
		}
	})
	destinations["outcall"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToOutcall) []step {
		o := p.outcalls.of(tenantUUID, to.OutcallID)
		if o == nil {
			return nil
		}
		for _, x := range o.Extensions {
			if x.Exten == to.Exten || conf.Matches(x.Exten, to.Exten) {
				return p.goesOut(o, &x, to.Exten, to.Exten[min(int(x.StripDigits), len(to.Exten)):])
			}
		}
		return p.goesOut(o, &confdsvc.DialPattern{}, to.Exten, to.Exten)
	})
}

func namedOutcall(o *confdsvc.Outcall) leftout.Omission {
	return named("outcall", o.TenantUUID, o.ID, o.Name)
}

// goesOut sends a call out: dialled is the number by which permissions are asked, and rest what is left of it for the trunk.
func (p *plan) goesOut(o *confdsvc.Outcall, x *confdsvc.DialPattern, dialled, rest string) []step {
	steps := []step{
		{"Set", "RINGFENCE_DIALLED=" + dialled},
		{"Set", "RINGFENCE_NUMBER=" + dialable(text(x.ExternalPrefix)) + dialable(text(x.Prefix)) + rest},
	}
	number := ""
	if !o.InternalCallerID {
		number, _ = p.calledBy(o.TenantUUID, text(x.CallerID))
		number = cmp.Or(number, p.mains[o.TenantUUID])
	}
	return append(steps, step{"Set", "RINGFENCE_OWN_NUMBER=" + number}, step{"Goto", fmt.Sprintf("ringfence-outcalls,%d,1", o.ID)})
}

// hides keeps a number from the called (RINGFENCE_HIDDEN) even if the caller ID changes meanwhile: so it does when somebody who asks before they hand a
// call on joins the part of the call that is placed for them.
const hides = `${IF($["${RINGFENCE_HIDDEN}" = "1"]?f(${CALLERID(num)})u(prohib))}`

// writeOutcalls writes by which trunks calls go. The next one is tried if a trunk is absent or has no line, and not if the called is busy, does not
// answer, or does not exist.
func writeOutcalls(p *plan, w *conf.Writer) {
	w.Section("ringfence-outcalls")
	limited := map[string]bool{} // tenants
	for _, l := range p.callLimits() {
		limited[l.tenantUUID] = true
	}
	for _, o := range p.Outcalls {
		id := fmt.Sprint(o.ID)
		var opens []step
		for _, s := range o.Schedules {
			opens = p.opens(o.TenantUUID, confdsvc.ID(s.ID))
		}
		steps := append([]step{{"Gosub", "ringfence-hop,s,1"}}, p.preprocess(namedOutcall(o), o.PreprocessSubroutine)...)
		steps = append(steps, opens...)
		if o.InternalCallerID {
			steps = append(steps, keepsNumber)
		}
		steps = append(steps, step{"Gosub", fmt.Sprintf("ringfence-outgoing,s,1(%s)", id)})
		if !o.InternalCallerID {
			steps = append(steps, keepsNumber)
		}
		seconds := ""
		if o.RingTime != nil && *o.RingTime > 0 {
			seconds = fmt.Sprint(min(*o.RingTime, longestRing))
		}
		if limited[o.TenantUUID] {
			steps = append(steps,
				step{"Gosub", fmt.Sprintf("ringfence-limit,call,1(%s,%s)", id, o.TenantUUID)}, step{"GotoIf", `$["${GOSUB_RETVAL}" != ""]?ringfence-outgoing,full,1`})
		}
		steps = append(steps, step{"Gosub", "ringfence-record,s,1(,2)"})
		for _, one := range o.Trunks {
			if dial := p.dialBy(one.ID, o.TenantUUID); dial != "" {
				steps = append(steps, p.tryTrunk(one.ID, dial+","+seconds+",${RINGFENCE_CALLER_OPTIONS}${RINGFENCE_ANNOUNCES}"+hides, limited[o.TenantUUID])...)
			}
		}
		p.writeEntry(w, entry{exten: id, about: o.Name, steps: append(steps, step{"Goto", "ringfence-outgoing,full,1"})})
	}
	p.writePermitted(w)
	p.writeEmergencies(w)
}

// tryTrunk calls by a trunk. One that is full, where there are limits, is not tried.
func (p *plan) tryTrunk(id confdsvc.ID, dial string, limited bool) []step {
	steps := []step{{"Gosub", fmt.Sprintf("ringfence-account,outbound,1(%d)", id)}, {"Set", "CALLERID(num)=" + p.formatted(id)}}
	if limited {
		dial += fmt.Sprintf("b(ringfence-limit^leg^1(trunk-%[1]d))U(ringfence-limit^trunk-%[1]d)", id)
		steps = append(steps, step{"Gosub", fmt.Sprintf("ringfence-limit,each,1(may,trunk-%d)", id)}, step{"GotoIf", `$["${GOSUB_RETVAL}" != ""]?$[${PRIORITY} + 3]`})
	}
	return append(steps, step{"Dial", dial}, step{"Gosub", "ringfence-outgoing,next,1"})
}

// writePermitted writes the numbers of the call permissions.
func (p *plan) writePermitted(w *conf.Writer) {
	for _, c := range p.CallPermissions {
		w.Section(fmt.Sprintf("ringfence-permission-%d", c.ID))
		w.Comment(c.Name)
		var all []entry
		seen := map[string]bool{}
		for _, exten := range c.Extensions.V {
			if !conf.IsExten(exten) && conf.IsExten("_"+exten) { // a pattern by its letters: see the format permitted-number of confd
				exten = "_" + exten
			}
			if seen[exten] {
				continue
			}
			seen[exten] = true
			if !conf.IsExten(exten) {
				p.leave(named("callpermission", c.TenantUUID, c.ID, c.Name), fmt.Sprintf("its number %q is none that Asterisk can read", exten))
				continue
			}
			all = append(all, entry{exten: exten, steps: []step{{"Return", ""}}})
		}
		p.writeEntries(w, all)
	}
}

// callLimit is a limit of calls to the outside, by the name that the library's ringfence-limit knows it by.
type callLimit struct {
	tenantUUID, name          string
	calls, perMinute, minutes int64 // 0: none
}

// limitOf reads a limit of an object. Without any, the name is empty.
func limitOf(tenantUUID, kind string, key any, l confdsvc.CallLimits) callLimit {
	number := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	limit := callLimit{tenantUUID, fmt.Sprintf("%s-%v", kind, key), number(l.MaxCalls), number(l.MaxCallsPerMinute), number(l.MaxMinutesPerDay)}
	if limit.calls+limit.perMinute+limit.minutes == 0 {
		limit.name = ""
	}
	return limit
}

// callLimits returns all limits of calls to the outside that there are.
func (p *plan) callLimits() []callLimit {
	var all []callLimit
	for _, t := range p.Tenants {
		all = append(all, limitOf(t.UUID, "tenant", t.UUID, t.CallLimits))
	}
	for _, t := range p.stored.Trunks {
		all = append(all, limitOf(t.TenantUUID, "trunk", t.ID, t.CallLimits))
	}
	for _, o := range p.stored.Outcalls {
		all = append(all, limitOf(o.TenantUUID, "outcall", o.ID, o.CallLimits))
	}
	for _, u := range p.stored.Users {
		all = append(all, limitOf(u.TenantUUID, "user", u.UUID, u.CallLimits))
	}
	return slices.DeleteFunc(all, func(l callLimit) bool { return l.name == "" })
}

// writeLimits writes the limits of calls to the outside. The library says what asks for them.
func writeLimits(p *plan, w *conf.Writer) {
	w.Section("ringfence-limits")
	var all []entry
	for _, l := range p.callLimits() {
		all = append(all, entry{exten: l.name, steps: []step{
			{"Gosub", fmt.Sprintf("ringfence-limit,${ARG1},1(%s,%d,%d,%d)", l.name, l.calls, l.perMinute, l.minutes)}, {"Return", "${GOSUB_RETVAL}"},
		}})
	}
	p.writeEntries(w, all)
}

// outcallFault says why no call goes out by an outcall, or nothing.
func (p *plan) outcallFault(o *confdsvc.Outcall) string {
	if !o.Enabled {
		return disabled
	}
	for _, one := range o.Trunks {
		if p.dialBy(one.ID, o.TenantUUID) != "" {
			return ""
		}
	}
	return "it has no trunk by which a call could go"
}

// dialBy returns what calls the number RINGFENCE_NUMBER by a trunk, or "" if the trunk has a fault or is another tenant's.
func (p *plan) dialBy(id confdsvc.ID, tenantUUID string) string {
	t := p.trunks.of(tenantUUID, id)
	if t == nil {
		return ""
	}
	if x := p.iaxOf(t); x != nil {
		if x.Type == "user" { // which only calls in
			return ""
		}
		return "IAX2/" + x.Name + "/${RINGFENCE_NUMBER}"
	}
	if e := p.endpoints.at(p.TrunkSIP[id]); e != nil {
		return "PJSIP/${RINGFENCE_NUMBER}@" + e.Name
	}
	c := p.customs.at(p.TrunkCustom[id])
	if localForm.MatchString(c.Interface) {
		return c.Interface
	}
	return c.Interface + "/${RINGFENCE_NUMBER}" + customSuffix(c)
}

// writeOutgoingCallers writes how the called see a user, by UUID, and which numbers a user, or an outgoing call, may not have: c{UUID}, p{UUID} and
// o{id}. Whoever hands a call on is known by their telephone, of whose name an extension can have only a sum.
func writeOutgoingCallers(p *plan, w *conf.Writer) {
	w.Section("ringfence-outgoing-callers")
	var sendsOn []entry
	byGroup := map[confdsvc.ID][]confdsvc.ID{} // the permissions of the groups that a user is in
	for _, g := range p.stored.Groups {
		for _, u := range p.memberUsers(g) {
			byGroup[u.ID] = append(byGroup[u.ID], p.GroupCallPermissions[g.UUID]...)
		}
	}
	for _, u := range p.Users {
		shown := p.outgoingID(u)
		if shown != nil {
			p.writeEntry(w, entry{exten: "c" + u.UUID, steps: append(shown, step{"Return", ""})})
		}
		if p.writePermissions(w, "p"+u.UUID, u.TenantUUID, append(byGroup[u.ID], p.UserCallPermissions[u.ID]...), text(u.CallPermissionPassword)) || shown != nil ||
			limitOf("", "", "", u.CallLimits).name != "" {
			for _, lineID := range p.UserLines[u.ID] {
				if e := p.endpoints.at(p.LineSIP[lineID]); e != nil && p.mainUser(lineID) == u {
					sendsOn = append(sendsOn, entry{exten: channelSum("PJSIP/" + e.Name), steps: []step{{"Return", u.UUID}}})
				}
			}
		}
	}
	for _, o := range p.stored.Outcalls {
		var ids []confdsvc.ID
		for _, c := range o.CallPermissions {
			ids = append(ids, c.ID)
		}
		p.writePermissions(w, fmt.Sprintf("o%d", o.ID), o.TenantUUID, ids, "")
	}
	w.Section("ringfence-senders")
	p.writeEntries(w, sendsOn)
}

// channelSum returns a sum of a channel's name as an extension can be: Asterisk makes it too.
func channelSum(channel string) string {
	return fmt.Sprintf("%x", md5.Sum([]byte(channel))) //nolint:gosec // it keeps no secret
}

// keepsNumber keeps the number that the called see, before each trunk gets it in its own format.
var keepsNumber = step{"Set", "RINGFENCE_SEEN=${CALLERID(num)}"}

// formatted returns the number that the called see in a trunk's format. One that does not begin with + stays as it is, and so does one of another
// country than the tenant's main number where the format is that of calls inside the country.
func (p *plan) formatted(trunkID confdsvc.ID) string {
	t := p.trunks.at(trunkID)
	switch code, begin := country(p.mains[t.TenantUUID]); {
	case t.OutgoingCallerIDFormat == "E164":
		return "${FILTER(0-9*#,${RINGFENCE_SEEN})}"
	case t.OutgoingCallerIDFormat == "national" && code != "":
		return fmt.Sprintf(`${IF($["${RINGFENCE_SEEN:0:%d}" = "%s"]?%s${RINGFENCE_SEEN:%[1]d}:${RINGFENCE_SEEN})}`, len(code), code, begin)
	}
	return "${RINGFENCE_SEEN}"
}

// countries are the calling codes: those of one or two digits; all others have three. begins is what takes their place inside the country, if
// anything does.
var (
	countries = regexp.MustCompile(`^\+(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9][0-9]{2})`)
	begins    = map[string]*regexp.Regexp{
		"0": regexp.MustCompile(`^\+(20|27|31|32|33|40|41|43|44|46|49|51|54|55|58|6[0-4]|66|8[1246]|9[0-58]|21[238]|23[34]|249|25[12456]|26[0-4]|` +
			`35[3589]|370|37[34]|38[0-35-79]|421|85[56]|880|886|96[1-4]|96[67]|97[0-267]|99[456])`),
		"06": regexp.MustCompile(`^\+36`), "8": regexp.MustCompile(`^\+(7|375|993)`),
	}
)

// country returns how international numbers of the country of one begin, and what takes the place of that inside the country. Both are empty if
// the number does not begin with +.
func country(number string) (code, begin string) {
	code = countries.FindString(number)
	for own, of := range begins {
		if code != "" && of.FindString(number) == code {
			begin = own
		}
	}
	return code, begin
}

// outgoingID sets what the called see of a user who has chosen it, or returns nil.
func (p *plan) outgoingID(u *confdsvc.User) []step {
	switch chosen := text(u.OutgoingCallerID); chosen {
	case "", "default":
		return nil
	case "anonymous":
		return []step{{"Set", "CALLERID(pres)=prohib"}, {"Set", "RINGFENCE_HIDDEN=1"}}
	default:
		number, name := p.calledBy(u.TenantUUID, chosen)
		if number == "" {
			return nil
		}
		steps := []step{{"Set", "CALLERID(num)=" + number}}
		if name != "" {
			steps = append(steps, step{"Set", "CALLERID(name)=" + conf.Argument(name)})
		}
		return steps
	}
}

// calledBy reads a number, or a caller ID with one, by which a tenant's calls go out.
func (p *plan) calledBy(tenantUUID, typed string) (number, name string) {
	id := conf.ParseCallerID(conf.Plain(typed))
	if id.Number == "" || conf.Digits(id.Number) != id.Number {
		return "", ""
	}
	return p.seen(tenantUUID, id.Number), id.Name
}

// seen returns a number as the called see it: with the + that the tenant's phone number has.
func (p *plan) seen(tenantUUID, number string) string {
	return cmp.Or(p.public[[2]string{tenantUUID, number}], number)
}

// writePermissions writes which numbers are refused: those of a permission that denies, unless one of the same holder allows them, or the caller
// knows its digits, or the user's own.
func (p *plan) writePermissions(w *conf.Writer, exten, tenantUUID string, ids []confdsvc.ID, password string) (refuses bool) {
	if len(ids) == 0 {
		return false
	}
	var allows, denies, maybe []step
	asks := map[string][]string{} // the digits that lift a refusal, by the exten that asks for them
	var order []string
	for _, c := range p.CallPermissions {
		if c.TenantUUID != tenantUUID || !slices.Contains(ids, c.ID) {
			continue
		}
		matches := fmt.Sprintf("$[${DIALPLAN_EXISTS(ringfence-permission-%d,${RINGFENCE_DIALLED},1)} = 1]?", c.ID)
		if c.Mode == "allow" {
			allows = append(allows, step{"GotoIf", matches + "ringfence-outgoing,granted,1"})
			continue
		}
		var digits []string
		for _, one := range []string{text(c.Password), password} {
			if one != "" && conf.Digits(one) == one {
				digits = append(digits, one)
			}
		}
		if len(digits) == 0 {
			denies = append(denies, step{"GotoIf", matches + "ringfence-outgoing,refused,1"})
			continue
		}
		ask := fmt.Sprintf("%sp%d", exten, c.ID)
		asks[ask], order = digits, append(order, ask)
		maybe = append(maybe, step{"GotoIf", matches + ask + ",1"})
	}
	if len(denies)+len(maybe) == 0 {
		return false
	}
	p.writeEntry(w, entry{exten: exten, steps: slices.Concat(allows, denies, maybe, []step{{"Return", ""}})}) // no digits lift what has none
	for _, ask := range order {
		steps := []step{{"Answer", ""}, {"Read", "RINGFENCE_PIN,vm-password,,,1,10"}}
		for _, digits := range asks[ask] {
			steps = append(steps, step{"GotoIf", `$["${RINGFENCE_PIN}" = "` + digits + `"]?ringfence-outgoing,granted,1`})
		}
		p.writeEntry(w, entry{exten: ask, steps: append(steps, step{"Goto", "ringfence-outgoing,refused,1"})})
	}
	return true
}
