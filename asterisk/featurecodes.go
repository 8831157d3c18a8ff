package asterisk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
)

// featureContext is the context of the feature codes, which contexts for telephones include.
const featureContext = "xivo-features"

// featureCodes are the feature codes that work, each with what its number does. A code of the form _*21. is dialled with a number
// behind it, which follows as RINGFENCE_TO.
var featureCodes = map[string][]step{
	"enablednd":   {{"Goto", "ringfence-service,dnd,1"}},
	"fwdunc":      {{"Set", "RINGFENCE_NAME=" + StateUnconditional}, {"Goto", "ringfence-service,forward,1"}},
	"fwdbusy":     {{"Set", "RINGFENCE_NAME=" + StateBusy}, {"Goto", "ringfence-service,forward,1"}},
	"fwdrna":      {{"Set", "RINGFENCE_NAME=" + StateNoAnswer}, {"Goto", "ringfence-service,forward,1"}},
	"fwdundoall":  {{"Goto", "ringfence-service,undo,1"}},
	"vmusermsg":   {{"Goto", "ringfence-service,mailbox,1"}},
	"vmboxslt":    {{"Goto", "ringfence-service,hear,1"}},
	"vmboxmsgslt": {{"Goto", "ringfence-service,leave,1"}},
	"pickup":      {{"Goto", "ringfence-service,pickup,1"}},
}

func init() {
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		for _, feature := range slices.Sorted(maps.Keys(featureCodes)) {
			exten, on := p.features[feature]
			if !on {
				continue
			}
			steps := []step{{"Set", "RINGFENCE_TO="}}
			if prefix, open := openCode(exten); open {
				steps = []step{{"Set", fmt.Sprintf("RINGFENCE_TO=${FILTER(0-9*#+,${EXTEN:%d})}", len(prefix))}}
			}
			add(featureContext, entry{exten: exten, steps: append(steps, featureCodes[feature]...)})
		}
	})
	lamps = append(lamps, keyLamps)
}

// openCode returns the digits of a code behind which a number is dialled, and whether it is one.
func openCode(exten string) (prefix string, open bool) {
	prefix, open = strings.CutPrefix(exten, "_")
	prefix = strings.TrimRight(prefix, ".!")
	return prefix, open && strings.Trim(prefix, "0123456789*#") == ""
}

// keyLamps are the lamps of users' function keys: of their own, and where they have none of those of their template.
func keyLamps(p *plan, add func(context string, e entry)) {
	own, templates := map[int64]*confdsvc.FuncKeyTemplate{}, map[int64]*confdsvc.FuncKeyTemplate{}
	for _, t := range p.Keys {
		if t.UserID != nil {
			own[*t.UserID] = t
		} else {
			templates[t.ID] = t
		}
	}
	for _, u := range p.Users {
		if p.users[u.ID] == nil {
			continue
		}
		keys := confdsvc.FuncKeys{}
		if u.FuncKeyTemplateID != nil {
			if t := templates[*u.FuncKeyTemplateID]; t != nil && t.TenantUUID == u.TenantUUID {
				maps.Copy(keys, t.Keys)
			}
		}
		if t := own[u.ID]; t != nil {
			maps.Copy(keys, t.Keys)
		}
		for _, position := range slices.Sorted(maps.Keys(keys)) {
			key := keys[position]
			if key.BLF {
				p.keyLamp(u, &key.Destination.Destination, add)
			}
		}
	}
}

// forwardFeatures are the feature codes of forwards, and their state.
var forwardFeatures = map[string][2]string{
	"unconditional": {"fwdunc", StateUnconditional}, "busy": {"fwdbusy", StateBusy}, "noanswer": {"fwdrna", StateNoAnswer},
}

// keyLamp adds the lamp of one key. A key for do-not-disturb or a forward has a number of its own, which only its user may dial: the
// code of phoneprogfunckey, the user's id, and the code of the feature with *** for each *, and the number to forward to.
func (p *plan) keyLamp(u *confdsvc.User, d *confdsvc.Destination, add func(context string, e entry)) {
	prefix, open := openCode(p.features["phoneprogfunckey"])
	name, _ := d.Kind()
	feature, state, to := "", "", ""
	switch name {
	case "service":
		if service, _ := d.Value("service").(string); service == "enablednd" {
			feature, state = service, StateDND
		}
	case "forward":
		of, _ := d.Value("forward").(string)
		feature, state = forwardFeatures[of][0], forwardFeatures[of][1]
		exten, _ := d.Value("exten").(string)
		to = dialable(exten)
	}
	code, there := p.features[feature]
	if !open || !there || feature == "" {
		return
	}
	code = strings.TrimRight(strings.TrimPrefix(code, "_"), ".!")
	exten := prefix + fmt.Sprint(u.ID) + strings.ReplaceAll(code, "*", "***") + to
	if !isExten(exten) {
		return
	}
	steps := []step{
		{"GotoIf", fmt.Sprintf(`$["${WAZO_USERID}" != "%d"]?ringfence-end,nowhere,1`, u.ID)},
		{"Set", "RINGFENCE_TO=" + to},
	}
	add(featureContext, entry{exten: exten, hint: stateDevice(u.UUID, state), steps: append(steps, featureCodes[feature]...)})
}
