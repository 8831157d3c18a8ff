package asterisk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "filters", writeFilters})
	featureCodes["bsfilter"] = serviceStep("", "filter")
	lamps = append(lamps, filterLamps)
}

// stateFilter is the name of the state that a filter is switched on for a surrogate, of whom it is a state.
func stateFilter(member int64) string { return fmt.Sprintf("filter-%d", member) }

// surrogates returns those of a filter who have a telephone, in their order.
func (p *plan) surrogates(f *confdsvc.CallFilter) (all []confdsvc.FilterSurrogate) {
	for _, s := range f.Surrogates.Users {
		if u := p.users.of(f.TenantUUID, confdsvc.ID(s.ID)); u != nil && len(p.devices(u)) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// filterOf returns the steps that lead a call to a user through their filters, which come back if none takes it.
func (p *plan) filterOf(u *confdsvc.User) (steps []step) {
	for _, f := range p.CallFilters {
		for _, r := range f.Recipients.Users {
			if confdsvc.ID(r.ID) == u.ID && f.TenantUUID == u.TenantUUID && len(p.surrogates(f)) > 0 {
				steps = append(steps, step{"Gosub", fmt.Sprintf("ringfence-filters,%d,1", f.ID)})
			}
		}
	}
	return steps
}

// writeFilters writes what each filter does with a call: it comes back if it is not for it, and where the recipient rings last. Who is in a filter
// may be called by the others. {surrogate's number}u{user's id} says whose state the filter is that this user may switch.
func writeFilters(p *plan, w *conf.Writer) {
	var members, filters []entry
	for _, f := range p.CallFilters {
		surrogates := p.surrogates(f)
		if len(surrogates) == 0 {
			continue
		}
		may := slices.Clip(surrogates)
		for _, r := range f.Recipients.Users {
			u := p.users.of(f.TenantUUID, confdsvc.ID(r.ID))
			if u == nil {
				continue
			}
			may = append(may, confdsvc.FilterSurrogate{UserRef: r.UserRef})
			filters = append(filters,
				entry{exten: fmt.Sprint(f.ID), about: f.Name, steps: p.enterFilter(f, u, surrogates)},
				entry{exten: fmt.Sprintf("%d-ring", f.ID), steps: p.ringFilter(f, u, r.Timeout, surrogates)},
				entry{exten: fmt.Sprintf("%d-off", f.ID), steps: []step{{"Return", ""}}},
			)
		}
		for _, s := range surrogates {
			for _, by := range may {
				if confdsvc.ID(by.ID) == confdsvc.ID(s.ID) || by.MemberID == 0 { // the surrogate, or the recipient
					members = append(members, entry{exten: fmt.Sprintf("%du%d", s.MemberID, by.ID), steps: []step{{"Return", s.UUID}}})
				}
			}
		}
	}
	w.Section("ringfence-filters")
	p.writeEntries(w, filters)
	w.Section("ringfence-filter-members")
	p.writeEntries(w, members)
}

// enterFilter collects in RINGFENCE_SURROGATES for whom the filter is switched on. Without anybody, and for calls that are not filtered, it comes back.
func (p *plan) enterFilter(f *confdsvc.CallFilter, u *confdsvc.User, surrogates []confdsvc.FilterSurrogate) []step {
	off := fmt.Sprintf("%d-off,1", f.ID)
	steps := []step{{"Gosub", "ringfence-account,s,1(" + u.UUID + ")"}}
	if f.Source != "all" {
		filtered := map[string]string{"external": "!=", "internal": "="}[f.Source]
		steps = append(steps, step{"GotoIf", `$["${RINGFENCE_DIRECTION}" ` + filtered + ` "inbound"]?` + off})
	}
	among := []string{u.UUID}
	for _, s := range surrogates {
		among = append(among, s.UUID)
	}
	for _, uuid := range among {
		steps = append(steps, step{"GotoIf", `$["${WAZO_USERUUID}" = "` + uuid + `"]?` + off})
	}
	steps = append(steps, step{"Set", "RINGFENCE_SURROGATES="})
	for _, s := range surrogates {
		steps = append(steps, step{"ExecIf", `$[` + isFilterOn(s) + `]?Set(RINGFENCE_SURROGATES=${RINGFENCE_SURROGATES}&` + surrogate(s.UUID) + `)`})
	}
	return append(steps, step{"GotoIf", `$["${RINGFENCE_SURROGATES}" = ""]?` + off}, step{"Goto", fmt.Sprintf("%d-ring,1", f.ID)})
}

func isFilterOn(s confdsvc.FilterSurrogate) string {
	return `"${DB(ringfence/` + userstate.State{User: s.UUID, Name: stateFilter(s.MemberID)}.Key() + `)}" = "1"`
}

// surrogate rings all telephones of a user who is in a filter, as those of members of groups.
func surrogate(uuid string) string { return "Local/" + uuid + "@usersharedlines" }

// ringFilter rings those who are in a filter in the order of its strategy. Where the recipient rings last, and the filter leads nowhere else, the call
// comes back: it goes on as one to the recipient.
func (p *plan) ringFilter(f *confdsvc.CallFilter, u *confdsvc.User, timeout *int64, surrogates []confdsvc.FilterSurrogate) []step {
	own := u.RingSeconds
	if own == nil {
		own = new(int64(30))
	}
	if timeout != nil && *timeout > 0 {
		own = timeout
	}
	seconds := ringSeconds(own)
	theirs := seconds
	if f.SurrogatesTimeout != nil && *f.SurrogatesTimeout > 0 {
		theirs = ringSeconds(f.SurrogatesTimeout)
	}
	dial := func(whom string, seconds int64) step {
		return step{"Dial", fmt.Sprintf("%s,%d,${RINGFENCE_CALLER_OPTIONS}c", whom, seconds)}
	}
	recipient, together := []step{dial(surrogate(u.UUID), seconds)}, []step{dial("${RINGFENCE_SURROGATES:1}", theirs)}
	var oneByOne []step
	for _, s := range surrogates {
		d := dial(surrogate(s.UUID), theirs)
		oneByOne = append(oneByOne, step{"ExecIf", "$[" + isFilterOn(s) + "]?" + d.app + "(" + d.args + ")"})
	}
	steps := append([]step{
		{"Gosub", "ringfence-hop,s,1(" + u.UUID + ")"},
		{"Set", "__RINGFENCE_GROUP="},
		{"Set", `__RINGFENCE_CALLER=${IF($["${WAZO_USERUUID}" = ""]?${RINGFENCE_CALLER}:${WAZO_USERUUID})}`},
	}, callerIDRule(f.CallerIDMode, f.CallerIDName)...)
	last, to := strings.HasSuffix(f.Strategy, "then-all-recipients"), p.lead(f.TenantUUID, f.Fallbacks.NoAnswer)
	all := surrogate(u.UUID) + "${RINGFENCE_SURROGATES}"
	if len(p.devices(u)) == 0 {
		recipient, all = nil, "${RINGFENCE_SURROGATES:1}"
	}
	if last && to == nil {
		recipient = []step{{"Set", fmt.Sprintf("RINGFENCE_SECONDS=%d", seconds)}, {"Return", ""}}
	}
	switch f.Strategy {
	case "all-recipients-then-linear-surrogates":
		steps = append(append(steps, recipient...), oneByOne...)
	case "all-recipients-then-all-surrogates":
		steps = append(append(steps, recipient...), together...)
	case "all-surrogates-then-all-recipients":
		steps = append(append(steps, together...), recipient...)
	case "linear-surrogates-then-all-recipients":
		steps = append(append(steps, oneByOne...), recipient...)
	default:
		steps = append(steps, dial(all, max(seconds, theirs)))
	}
	if last && to == nil {
		return steps
	}
	return append(steps, p.leaveFilter(u, to)...)
}

// leaveFilter goes on with a call that nobody has taken: where the filter leads, or as the recipient's own that nobody answers.
func (p *plan) leaveFilter(u *confdsvc.User, to []step) []step {
	var steps []step
	if x := p.number(u); x != nil {
		steps = append(steps, step{"Gosub", "ringfence-redirect,noanswer,1(" + x.Exten + ")"})
	}
	steps = append(steps, step{"StackPop", ""}, step{"Set", "RINGFENCE_PAYER=" + u.UUID})
	if to == nil {
		to = p.lead(u.TenantUUID, u.Fallbacks.NoAnswer)
	}
	if to != nil {
		return append(steps, to...)
	}
	if v := p.boxOf(u); v != nil {
		steps = append(steps, step{"Set", "RINGFENCE_MAILBOX=" + mailbox(v)})
	}
	return append(steps, step{"Goto", "ringfence-end,noanswer,1"})
}

// filterLamps are the lamps of filters, of the numbers that switch them. They are lit while a filter is on.
func filterLamps(p *plan, add func(context string, e entry)) {
	prefix, open := openCode(p.features["bsfilter"])
	if !open {
		return
	}
	for _, f := range p.CallFilters {
		for _, s := range p.surrogates(f) {
			add(keyContext(f.TenantUUID), numberLamp(prefix, s.MemberID, "bsfilter", userstate.State{User: s.UUID, Name: stateFilter(s.MemberID)}.Device()))
		}
	}
}

// numberLamp is the lamp of what is dialled for a service with a number behind its code.
func numberLamp(prefix string, number int64, feature, device string) entry {
	steps := []step{dialsOnly, {"Set", fmt.Sprintf("RINGFENCE_TO=%d", number)}}
	return entry{exten: fmt.Sprintf("%s%d", prefix, number), hint: device, steps: append(steps, featureCodes[feature]...)}
}
