package asterisk

import (
	"maps"
	"slices"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts,
		part{"confbridge.conf", 0, "profiles", writeProfiles},
		part{"rtp.conf", 0, "general", func(p *plan, w *conf.Writer) {
			w.Section("general")
			p.writeOptionsOf(w, "rtp.conf", "rtp/general")
			if len(p.Section("rtp/ice_host_candidates")) > 0 {
				w.Section("ice_host_candidates")
				p.writeOptionsOf(w, "rtp.conf", "rtp/ice_host_candidates")
			}
		}},
		part{"hep.conf", 0, "general", func(p *plan, w *conf.Writer) {
			if p.Sections["hep/general"] != nil {
				w.Section("general")
				p.writeOptionsOf(w, "hep.conf", "hep/general")
			}
		}},
	)
}

// writeOptionsOf writes the options of a section, by its path in confd below asterisk/, into a file. Those of apart are written elsewhere.
// One with another value than its form has would make Asterisk refuse more than itself, and is left out.
func (p *plan) writeOptionsOf(w *conf.Writer, file, path string, apart ...string) {
	options := p.Section(path)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if fault := confdsvc.OptionFault(path, name, options[name]); fault != "" {
			p.leave(leftout.Omission{Kind: "section", Key: file, Name: path, Option: name}, "it "+fault)
		} else if !slices.Contains(apart, name) {
			w.Set(name, options[name])
		}
	}
}

// The profiles and menus of confbridge.conf, which all conferences have.
const (
	bridgeProfile = "wazo_default_bridge"
	userProfile   = "wazo_default_user"
	userMenu      = "wazo_default_user_menu"
	adminMenu     = "wazo_default_admin_menu"
)

// The keys of conferences: those of everybody, and those of who leads one.
var (
	userKeys = [][2]string{
		{"*", "playback_and_continue(conf-usermenu)"},
		{"1", "toggle_mute"},
		{"4", "decrease_listening_volume"},
		{"6", "increase_listening_volume"},
		{"7", "decrease_talking_volume"},
		{"8", "leave_conference"},
		{"9", "increase_talking_volume"},
	}
	adminKeys = [][2]string{
		{"*", "playback_and_continue(conf-adminmenu)"},
		{"1", "toggle_mute"},
		{"2", "admin_toggle_conference_lock"},
		{"3", "admin_kick_last"},
		{"4", "decrease_listening_volume"},
		{"6", "increase_listening_volume"},
		{"7", "decrease_talking_volume"},
		{"8", "leave_conference"},
		{"9", "increase_talking_volume"},
	}
)

// hasProfile reports whether confbridge.conf has a profile, or a menu.
func (p *plan) hasProfile(name string) bool { return p.taken(name, "confbridge.conf") == "" }

// writeProfiles writes the profiles and the menus, if there are conferences: without, Asterisk needs no app_confbridge. For one option that it does
// not know Asterisk would load none of them.
func writeProfiles(p *plan, w *conf.Writer) {
	if len(p.Conferences) == 0 {
		return
	}
	for _, profile := range []struct {
		name, kind string
		keys       [][2]string
	}{{bridgeProfile, "bridge", nil}, {userProfile, "user", nil}, {userMenu, "menu", userKeys}, {adminMenu, "menu", adminKeys}} {
		if why := p.taken(profile.name, "confbridge.conf"); why != "" {
			p.leave(leftout.Omission{Kind: "section", Key: "confbridge.conf", Name: profile.name}, why)
			continue
		}
		w.Section(profile.name)
		w.Set("type", profile.kind)
		if profile.keys == nil {
			p.writeOptionsOf(w, "confbridge.conf", "confbridge/"+profile.name, "type")
		}
		for _, key := range profile.keys {
			w.Set(key[0], key[1])
		}
	}
}
