package asterisk_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
)

// Each context where telephones dial has the emergency number that fits it best, and a tenant with outgoing calls and without one is named.
func TestEmergencyNumbers(t *testing.T) {
	s := company(t)
	carrierAt(t, s, "carrier.example")
	const second, empty, lobby = "ctx-acme-internal-2", "ctx-acme-outcall-1", "ctx-acme-others-1"
	s.Contexts = append(s.Contexts,
		&confdsvc.Context{ID: 4, TenantUUID: acme, Name: second, Label: "Elsewhere", Type: "internal", Enabled: true},
		&confdsvc.Context{ID: 5, TenantUUID: acme, Name: empty, Label: "To outside", Type: "outcall", Enabled: true},
		&confdsvc.Context{ID: 6, TenantUUID: acme, Name: lobby, Label: "Lobby", Type: "others", Enabled: true})
	s.Lines[2].Context = lobby
	s.Extensions = append(s.Extensions,
		&confdsvc.Extension{ID: 20, TenantUUID: acme, Exten: "_0X.", Context: empty, Enabled: true},
		&confdsvc.Extension{ID: 21, TenantUUID: acme, Exten: "0110", Context: inside, Enabled: true})
	s.LineExtensions[3] = append(s.LineExtensions[3], 21)
	trunk := s.Trunks[0].ID
	s.Outcalls = []*confdsvc.Outcall{
		{
			ID: 1, TenantUUID: acme, Name: "out", Enabled: true, Trunks: []confdsvc.OutcallTrunk{{ID: trunk}},
			Extensions: []confdsvc.DialPattern{*read[confdsvc.DialPattern](t, `{"id": 20, "exten": "_0X.", "context": "`+empty+`", "strip_digits": 1}`)},
		},
		{ID: 2, TenantUUID: other, Name: "theirs", Enabled: true},
	}
	number := func(id confdsvc.ID, tenant, number string, edit func(n *confdsvc.EmergencyNumber)) {
		n := &confdsvc.EmergencyNumber{ID: id, TenantUUID: tenant, Number: number}
		if edit != nil {
			edit(n)
		}
		s.Emergencies = append(s.Emergencies, n)
	}
	number(1, acme, "110", func(n *confdsvc.EmergencyNumber) { n.Users = []confdsvc.UserRef{{ID: 2, UUID: bob}} })
	number(2, acme, "110", nil)
	number(3, acme, "112", func(n *confdsvc.EmergencyNumber) { n.Context = new(second) })
	number(4, acme, "112", nil)
	number(5, other, "112", nil) // no trunk is theirs
	files, left, err := asterisk.Generate(s, asterisk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := checkFiles(t, files)["extensions.conf"]
	const section = "ringfence-emergency-" + acme
	leads := func(context, exten string) (steps []string) {
		for i, v := range f.Section(context).Values {
			if v.Name == "exten" && strings.HasPrefix(v.Text, exten+",1,") {
				steps = append(steps, strings.TrimPrefix(v.Text, exten+",1,"))
				for _, next := range f.Section(context).Values[i+1:] {
					if next.Name != "same" {
						break
					}
					steps = append(steps, strings.TrimPrefix(next.Text, "n,"))
				}
			}
		}
		return steps
	}
	for at, want := range map[[2]string]string{
		{inside, "112"}: "Goto(" + section + ",4,1)", {second, "112"}: "Goto(" + section + ",3,1)", {second, "0112"}: "Goto(" + section + ",3,1)",
		{second, "0110"}: "Goto(" + section + ",2,1)", {inside, "110"}: "Goto(" + section + ",2,1)", {inside, "0110"}: "Goto(ringfence-users," + bob + ",1)",
		{lobby, "112"}: "Goto(" + section + ",4,1)", {section, "110u2"}: "Goto(1,1)", {section, "4"}: "Goto(ringfence-outgoing,full,1)",
	} {
		if got := leads(at[0], at[1]); len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%s in %s: %q, want %s", at[1], at[0], got, want)
		}
	}
	if got := leads(section, "4"); !slices.Contains(got, "Set(TIMEOUT(absolute)=0)") {
		t.Errorf("a call ends by the operator's limit: %q", got)
	}
	for context, why := range map[string]string{theirs: "without a trunk", empty: "where no line is"} {
		if got := leads(context, "112"); got != nil {
			t.Errorf("%s: %q", why, got)
		}
	}
	names := func(tenant string) bool {
		return slices.ContainsFunc(left, func(o leftout.Omission) bool {
			return o.Kind == "tenant" && o.Key == tenant && strings.Contains(o.Reason, "no emergency number")
		})
	}
	if names(acme) || !names(other) {
		t.Errorf("left out: %v", left)
	}
}
