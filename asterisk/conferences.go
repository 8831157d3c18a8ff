package asterisk

import (
	"fmt"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"extensions.conf", 2, "conferences", writeConferences})
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, o := range p.Conferences {
			for _, x := range p.extensions.among(o.TenantUUID, p.ConferenceExtensions[o.ID]) {
				e := entry{exten: x.Exten, steps: []step{enterConference(o)}}
				if !strings.HasPrefix(x.Exten, "_") {
					e.hint = "confbridge:" + roomOf(o)
				}
				add(x.Context, e)
			}
		}
	})
	destinations["conference"] = with(func(p *plan, tenantUUID string, to *confdsvc.ToConference) []step {
		return enters(p.conferences.of(tenantUUID, to.ConferenceID), enterConference)
	})
}

func enterConference(o *confdsvc.Conference) step {
	return step{"Goto", fmt.Sprintf("ringfence-conferences,%d,1", o.ID)}
}

// roomOf is the name of the room of a conference.
func roomOf(o *confdsvc.Conference) string { return fmt.Sprintf("ringfence-%d", o.ID) }

// writeConferences writes what a call to each conference does. The room is as the call that comes first says, and else as the profiles of
// confbridge.conf, which are none of a tenant.
func writeConferences(p *plan, w *conf.Writer) {
	w.Section("ringfence-conferences")
	for _, o := range p.Conferences {
		id := fmt.Sprint(o.ID)
		in := id + "-in"
		enters := []step{{"Gosub", "ringfence-hop,s,1"}}
		enters = append(enters, p.preprocess(named("conference", o.TenantUUID, id, text(o.Name)), o.PreprocessSubroutine)...)
		enters = append(enters, []step{{"Answer", ""}, {"Set", "RINGFENCE_ADMIN=no"}, {"Set", "RINGFENCE_TRIES=0"}}...)
		if pin, admin := text(o.PIN), text(o.AdminPIN); pin == "" && admin == "" {
			p.writeEntry(w, entry{exten: id, about: text(o.Name), steps: append(enters, step{"Goto", in + ",1"})})
		} else {
			p.writeEntry(w, entry{exten: id, about: text(o.Name), steps: append(enters, step{"Goto", id + "-pin,1"})})
			p.writeEntry(w, entry{exten: id + "-pin", steps: []step{
				{"Set", "RINGFENCE_TRIES=$[${RINGFENCE_TRIES} + 1]"},
				{"GotoIf", "$[${RINGFENCE_TRIES} > 3]?" + id + "-refused,1"},
				{"Read", "RINGFENCE_PIN,conf-getpin,,,1,10"},
				{"Set", `RINGFENCE_ADMIN=${IF($["` + admin + `" != "" & "${RINGFENCE_PIN}" = "` + admin + `"]?yes:no)}`},
				{"GotoIf", `$["${RINGFENCE_ADMIN}" = "yes" | "${RINGFENCE_PIN}" = "` + pin + `"]?` + in + ",1"},
				{"Playback", "conf-invalidpin"},
				{"Goto", id + "-pin,1"},
			}})
			p.writeEntry(w, entry{exten: id + "-refused", steps: []step{{"Playback", "vm-goodbye"}, {"Hangup", ""}}})
		}
		p.writeEntry(w, entry{exten: in, steps: p.enterRoom(o)})
	}
}

// recording is where a room is recorded: a tenant's recordings are in a folder of its own.
func recording(tenantUUID, of string) string {
	return "ringfence/" + tenantUUID + "/${STRFTIME(${EPOCH},,%Y%m%d-%H%M%S)}-" + of + ".wav"
}

// enterRoom sets how the room, and this caller in it, are.
func (p *plan) enterRoom(o *confdsvc.Conference) (steps []step) {
	set := func(what, option, value string) {
		steps = append(steps, step{"Set", "CONFBRIDGE(" + what + "," + option + ")=" + value})
	}
	for _, profile := range [][2]string{{"bridge", bridgeProfile}, {"user", userProfile}} {
		if p.hasProfile(profile[1]) {
			set(profile[0], "template", profile[1])
		}
	}
	if o.MaxUsers > 0 {
		set("bridge", "max_members", fmt.Sprint(o.MaxUsers))
	}
	if o.Record {
		set("bridge", "record_conference", "yes")
		set("bridge", "record_file", recording(o.TenantUUID, fmt.Sprintf("conference-%d", o.ID)))
	}
	set("user", "quiet", yes(o.QuietJoinLeave))
	set("user", "announce_join_leave", yes(o.AnnounceJoinLeave))
	set("user", "announce_user_count", yes(o.AnnounceUserCount))
	set("user", "announce_only_user", yes(o.AnnounceOnlyUser))
	if class := p.musicOf(o.TenantUUID, o.MusicOnHold); class != "" {
		set("user", "music_on_hold_when_empty", "yes")
		set("user", "music_on_hold_class", class)
	}
	set("user", "admin", "${RINGFENCE_ADMIN}")
	room := roomOf(o)
	if p.hasProfile(userMenu) && p.hasProfile(adminMenu) {
		room += `,,,${IF($["${RINGFENCE_ADMIN}" = "yes"]?` + adminMenu + ":" + userMenu + ")}"
	}
	return append(steps, step{"ConfBridge", room}, step{"Hangup", ""})
}
