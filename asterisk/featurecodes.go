package asterisk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/userstate"
	"github.com/ringfence/ringfence/confdsvc"
)

// featureContext is the context of the feature codes, which contexts for telephones include.
const featureContext = "xivo-features"

// featureCodes are the feature codes that work, each with what its number does. A code of the form _*21. is dialled with a number
// behind it, which follows as RINGFENCE_TO; without one it asks for it. The number of any other leads nowhere. A code works only for who dials it.
var featureCodes = map[string][]step{
	"enablednd":            serviceStep(userstate.DND, "switch"),
	"incallfilter":         serviceStep(userstate.IncallFilter, "switch"),
	"callrecord":           serviceStep(userstate.CallRecord, "switch"),
	"fwdunc":               serviceStep(userstate.Unconditional, "forward"),
	"fwdbusy":              serviceStep(userstate.Busy, "forward"),
	"fwdrna":               serviceStep(userstate.NoAnswer, "forward"),
	"fwdundoall":           serviceStep("", "undo"),
	"enablevm":             serviceStep("", "voicemail"),
	"vmusermsg":            serviceStep("", "mailbox"),
	"vmboxslt":             serviceStep("", "hear"),
	"vmboxmsgslt":          serviceStep("", "leave"),
	"pickup":               serviceStep("", "pickup"),
	"phonestatus":          serviceStep("", "status"),
	"directoryaccess":      serviceStep("", "directory"),
	"groupmemberjoin":      {{"Set", "RINGFENCE_VALUE=0"}, {"Goto", "ringfence-service,member,1"}},
	"groupmemberleave":     {{"Set", "RINGFENCE_VALUE=1"}, {"Goto", "ringfence-service,member,1"}},
	"agentstaticlogin":     {{"Set", "RINGFENCE_VALUE=1"}, {"Goto", "ringfence-service,agent,1"}},
	"agentstaticlogoff":    {{"Set", "RINGFENCE_VALUE=0"}, {"Goto", "ringfence-service,agent,1"}},
	"agentstaticlogtoggle": {{"Set", "RINGFENCE_VALUE="}, {"Goto", "ringfence-service,agent,1"}},
	agentPause:             serviceStep("", "pause"),
	"groupmembertoggle":    {{"Set", "RINGFENCE_VALUE="}, {"Goto", "ringfence-service,member,1"}},
}

// agentPause is the feature by which agents pause, with the digits behind it as the reason, and by itself also take calls again.
const agentPause = "agentpause"

// leavesMessage is the feature that also works for who was sent to it, such as by a fallback.
const leavesMessage = "vmboxmsgslt"

// dialsOnly ends a call that was forwarded or transferred to a code.
var dialsOnly = step{"Gosub", "ringfence-service,dialled,1"}

// serviceStep leads to a service of the library, which works on the state of that name, if it has one.
func serviceStep(state, service string) (steps []step) {
	if state != "" {
		steps = []step{{"Set", "RINGFENCE_NAME=" + state}}
	}
	return append(steps, step{"Goto", "ringfence-service," + service + ",1"})
}

// keyPrefix is the feature whose code begins the numbers of function keys: alone it is no number.
const keyPrefix = "phoneprogfunckey"

func init() {
	numbers = append(numbers, func(p *plan, add func(context string, e entry)) {
		without := map[string][]step{} // what codes do that a number belongs behind, dialled without one
		for _, feature := range slices.Sorted(maps.Keys(p.features)) {
			exten, leads := p.features[feature], featureCodes[feature]
			if feature == keyPrefix {
				continue
			}
			if leads == nil {
				add(featureContext, entry{exten: exten, steps: []step{nowhere}})
				continue
			}
			steps := []step{{"Set", "RINGFENCE_TO="}}
			if prefix, open := openCode(exten); open {
				switch {
				case strings.HasPrefix(feature, "fwd"), feature == agentPause, feature == "pickup": // its service knows what to do without a number
					without[prefix] = append([]step{dialsOnly, {"Set", "RINGFENCE_TO="}}, leads...)
				default:
					without[prefix] = append([]step{dialsOnly, {"Gosub", "ringfence-service,ask,1"}}, leads...)
				}
				steps = []step{{"Set", fmt.Sprintf("RINGFENCE_TO=${FILTER(0-9*#+,${EXTEN:%d})}", len(prefix))}}
			}
			if feature != leavesMessage {
				steps = append([]step{dialsOnly}, steps...)
			}
			add(featureContext, entry{exten: exten, steps: append(steps, leads...)})
		}
		for _, prefix := range slices.Sorted(maps.Keys(without)) {
			if conf.IsExten(prefix) { // another feature's own code was first
				add(featureContext, entry{exten: prefix, steps: without[prefix]})
			}
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

// keyContext is the context of the numbers of a tenant's function keys. Nobody else's telephones include it: they could watch its lamps.
func keyContext(tenantUUID string) string { return "ringfence-keys-" + tenantUUID }

// keyLamps are the lamps of users' function keys: of their own, and where they have none of those of their template.
func keyLamps(p *plan, add func(context string, e entry)) {
	own, templates := map[confdsvc.ID]*confdsvc.FuncKeyTemplate{}, map[confdsvc.ID]*confdsvc.FuncKeyTemplate{}
	for _, t := range p.Keys {
		if t.UserID != nil {
			own[*t.UserID] = t
		} else {
			templates[t.ID] = t
		}
	}
	for _, u := range p.Users {
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
	"unconditional": {"fwdunc", userstate.Unconditional}, "busy": {"fwdbusy", userstate.Busy}, "noanswer": {"fwdrna", userstate.NoAnswer},
}

// serviceStates are the states that the keys of services show.
var serviceStates = map[string]string{
	"enablednd": userstate.DND, "incallfilter": userstate.IncallFilter, "callrecord": userstate.CallRecord, "enablevm": userstate.NoVoicemail,
}

// keyLamp adds the lamp of one key. Those of users are the hints of their numbers. A key for a state of its user has a number of its
// own, which only this user may dial: the code of phoneprogfunckey, the user's id, and the code of the feature with *** for each *, and
// what is dialled behind that.
func (p *plan) keyLamp(u *confdsvc.User, d *confdsvc.Destination, add func(context string, e entry)) {
	feature, state, to, forwards := "", "", "", false
	lamp := func() string { return userstate.State{User: u.UUID, Name: state}.Device() }
	switch key := d.Keys().(type) {
	case *confdsvc.KeyService:
		feature, state = string(key.Service), serviceStates[string(key.Service)]
	case *confdsvc.KeyForwards:
		feature, state, forwards = forwardFeatures[key.Forward][0], forwardFeatures[key.Forward][1], true
		if key.Exten != nil {
			to = dialable(*key.Exten)
		}
	case *confdsvc.KeyGroupMember:
		if g := p.groups.at(key.GroupID); g != nil && slices.Contains(p.memberUsers(g), u) {
			feature, state, to = "groupmember"+key.Action, stateLeft(g.ID), fmt.Sprint(g.ID)
		}
	case *confdsvc.KeyAgent:
		if a := p.agents.of(u.TenantUUID, key.AgentID); a != nil {
			feature, state, to = agentFeatures[key.Action], "agent", a.Number
			lamp = func() string { return agentDevice(a) }
		}
	case *confdsvc.KeyDials:
		p.customLamp(u, key.Exten, add)
	}
	prefix, open := openCode(p.features[keyPrefix])
	code, there := p.features[feature]
	if !open || !there || state == "" {
		return
	}
	behind := strings.ReplaceAll(strings.TrimRight(strings.TrimPrefix(code, "_"), ".!"), "*", "***")
	user := prefix + fmt.Sprint(u.ID)
	exten := user + behind + to
	if !conf.IsExten(exten) {
		return
	}
	if behind += to; forwards && to != "" { // the lamp does not ask to which number
		behind = strings.TrimSuffix(behind, to) + "."
	}
	steps := []step{
		dialsOnly,
		{"GotoIf", fmt.Sprintf(`$["${WAZO_USERID}" != "%d"]?ringfence-end,nowhere,1`, u.ID)},
		{"Set", "RINGFENCE_TO=" + to},
	}
	add(keyContext(u.TenantUUID), entry{
		exten: exten, hint: lamp(), steps: append(steps, featureCodes[feature]...), digit: len(user) - 1, behind: behind,
	})
}

// maxDevice is how long the name of a device may be that Asterisk watches.
const maxDevice = 79

// customLamp adds the lamp of a key for a number that has none, where its user dials: a device that other programs switch on and off.
func (p *plan) customLamp(u *confdsvc.User, exten string, add func(context string, e entry)) {
	c := p.context(u)
	if c == nil || !conf.IsExten(exten) || strings.HasPrefix(exten, "_") || p.hasLamp(c.Name, exten) {
		return
	}
	if device := "Custom:ringfence-key-" + u.TenantUUID + "-" + exten; len(device) <= maxDevice {
		add(c.Name, entry{exten: exten, hint: device})
	}
}
