package asterisk

import (
	"fmt"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"extensions.conf", 2, "devices", writeDevices},
		part{"extensions.conf", 2, "users", writeUsers},
		part{"extensions.conf", 2, "usersharedlines", writeSharedLines},
	)
	numbers = append(numbers, lineNumbers)
	destinations["user"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToUser) []step {
		steps := ringTime(to.RingTime)
		if m := p.musicUUIDs.of(tenantUUID, text(to.MOHUUID)); m != nil {
			steps = append(steps, step{"Set", "CHANNEL(musicclass)=" + m.Name})
		}
		return enters(p.users.of(tenantUUID, to.UserID), toUser, steps...)
	})
}

func toUser(u *confdsvc.User) step { return step{"Goto", "ringfence-users," + u.UUID + ",1"} }

func namedUser(u *confdsvc.User) leftout.Omission {
	return named("user", u.TenantUUID, u.UUID, nameOf(u))
}

// lineNumbers are the numbers of lines: each rings the line's user, or the line if it has none.
func lineNumbers(p *plan, add func(context string, e entry)) {
	for _, l := range p.Lines {
		for _, x := range p.extensions.among(l.TenantUUID, p.LineExtensions[l.ID]) {
			e := entry{exten: x.Exten}
			if u := p.mainUser(l.ID); u != nil && u.TenantUUID == l.TenantUUID {
				e.steps = []step{toUser(u)}
				if isOn(u.SupervisionEnabled) && !strings.HasPrefix(x.Exten, "_") {
					e.hint = watchedDevices(p.devices(u))
				}
			} else if d, fault := p.device(l); fault == "" && len(p.LineUsers[l.ID]) == 0 {
				e.steps = []step{
					{"Set", "RINGFENCE_DEVICES=" + d.dial},
					{"GotoIf", "$[${LEN(${RINGFENCE_DEVICES})} = 0]?ringfence-end,fail,1"},
					{"Gosub", "ringfence-caller,s,1"},
					{"Gosub", "ringfence-account,s,1"},
					{"Dial", "${RINGFENCE_DEVICES},60,${RINGFENCE_CALLER_OPTIONS}b(ringfence-caller^s^1)"},
					{"Hangup", "${HANGUPCAUSE}"},
				}
			}
			add(x.Context, e)
		}
	}
}

// writeDevices writes what rings the devices of each user who has some.
func writeDevices(p *plan, w *conf.Writer) {
	w.Section("ringfence-devices")
	var all []entry
	for _, u := range p.Users {
		dials := []string{}
		for _, d := range p.devices(u) {
			dials = append(dials, d.dial)
		}
		all = append(all, entry{exten: u.UUID, steps: []step{{"Return", strings.Join(dials, "&")}}})
	}
	p.writeEntries(w, all)
}

// writeUsers writes what a call to each user does.
func writeUsers(p *plan, w *conf.Writer) {
	w.Section("ringfence-users")
	var all, ends []entry
	for _, u := range p.Users {
		named := namedUser(u)
		steps := append(p.preprocess(named, u.PreprocessSubroutine), p.opens(u.TenantUUID, p.UserSchedule[u.ID])...)
		steps = append(steps, p.filterOf(u)...)
		steps = append(steps, step{"Gosub", "ringfence-user,s,1(" + p.userArguments(u) + ")"})
		for _, fallback := range []struct {
			result string
			to     *confdsvc.Destination
		}{
			{"busy", u.Fallbacks.Busy}, {"noanswer", u.Fallbacks.NoAnswer}, {"congestion", u.Fallbacks.Congestion}, {"fail", u.Fallbacks.Fail},
		} {
			to := p.lead(u.TenantUUID, fallback.to)
			if to == nil {
				continue
			}
			exten := u.UUID + "-" + fallback.result
			steps = append(steps, step{"GotoIf", `$["${GOSUB_RETVAL}" = "` + fallback.result + `"]?ringfence-fallbacks,` + exten + ",1"})
			ends = append(ends, entry{exten: exten, steps: to})
		}
		all = append(all, entry{exten: u.UUID, about: named.Name, steps: append(steps, step{"Goto", "ringfence-end,${GOSUB_RETVAL},1"})})
	}
	p.writeEntries(w, all)
	if len(ends) > 0 {
		w.Section("ringfence-fallbacks")
		p.writeEntries(w, ends)
	}
}

// nameOf returns the name of a user, as people say it.
func nameOf(u *confdsvc.User) string { return strings.TrimSpace(u.Firstname + " " + text(u.Lastname)) }

// userArguments are those of the library's ringfence-user.
func (p *plan) userArguments(u *confdsvc.User) string {
	seconds, calls := int64(30), int64(5)
	if u.RingSeconds != nil {
		seconds = ringSeconds(u.RingSeconds)
	}
	if u.SimultaneousCalls != nil {
		calls = *u.SimultaneousCalls
	}
	box, in, mobile, own := "", "", "", ""
	if x := p.number(u); x != nil {
		own = x.Exten
	}
	if v := p.boxOf(u); v != nil {
		box = mailbox(v)
	}
	if c := p.context(u); c != nil {
		in = c.Name
	}
	if u.MobileFallbackEnabled {
		mobile = dialable(text(u.MobilePhoneNumber))
	}
	return fmt.Sprintf("%s,%d,%d,%d,%s,%s,%s,%s,%s", u.UUID, max(1, len(p.devices(u))), seconds, calls, box, dialOptions(u, false), in, mobile, own)
}

// dialOptions are the options of Dial that a user may use while they telephone, as the one who calls or the one who is called.
func dialOptions(u *confdsvc.User, calls bool) string {
	called := letters(choice{isSet(u.CallTransferEnabled), "t"}, choice{isSet(u.DTMFHangupEnabled), "h"}, choice{isSet(u.OnlineCallRecordEnabled), "x"})
	if calls {
		return strings.ToUpper(called)
	}
	return called
}

// writeSharedLines writes the context by which groups, and other programs, ring all lines of a user. Groups that ring nobody who telephones
// see there whether a line is in use.
func writeSharedLines(p *plan, w *conf.Writer) {
	watched := map[*confdsvc.User]bool{}
	for _, g := range p.Groups {
		if !g.RingInUse && strategies[g.Strategy] != "" {
			for _, u := range p.memberUsers(g) {
				watched[u] = true
			}
		}
	}
	for _, q := range p.Queues {
		if !ringsInUse(q) {
			for _, u := range p.queueUsers(q) {
				watched[u] = true
			}
		}
	}
	w.Section("usersharedlines")
	var all []entry
	for _, u := range p.Users {
		devices := p.devices(u)
		if len(devices) == 0 {
			continue
		}
		e := entry{exten: u.UUID, digit: -1, steps: []step{
			{"Gosub", fmt.Sprintf("ringfence-member,s,1(%s,%d,%s)", u.UUID, len(devices), dialOptions(u, false))}, {"Hangup", ""},
		}}
		if watched[u] {
			e.hint = watchedDevices(devices)
		}
		all = append(all, e)
	}
	p.writeEntries(w, all)
}
