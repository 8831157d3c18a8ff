package wazo_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notHere are kinds of answers that are not compared, with the reason.
var notHere = map[string]string{}

func init() {
	for reason, kinds := range map[string][]string{
		"these kinds are not here yet (docs/compatibility.md)": {
			"dhcp", "emails", "endpoints/sccp",
			"ingresses/http", "ingresses/http item", "meetings", "meetings item", "provisioning/networking",
			"asterisk/sccp/general",
		},
		"the provisioning daemon has them, and no dump":              {"devices", "devices item", "lines devices", "registrars", "registrars item"},
		"CSV, or JSON if it is asked for":                            {"users export"},
		"files on the disk, of which no dump tells":                  {"sounds", "sounds item", "sounds/languages"},
		"not of the dump: the time zones that the machine knows":     {"timezones"},
		"only of services that the gateway is configured for":        {"auth user external", "auth external config"},
		"the installation's own: who is asked, and of which release": {"infos"},
	} {
		for _, kind := range kinds {
			notHere[kind] = reason
		}
	}
}

// differs are attributes that differ, by the kind of the answer, or *, and the path of the attribute, with the reason.
var differs = map[string]string{}

func init() {
	for reason, attributes := range map[string][]string{
		allUsers:                                 {"auth groups.items[].uuid", "auth user groups.items[].uuid"},
		"shown also where there is no directory": {"auth ldap.tenant_uuid"},
		"of a policy of the configuration, which every tenant sees as its own: here in this list too": {"auth user policies.items[].tenant_uuid"},
		"in no order there":              {"endpoints/iax item.options", "endpoints/iax.items[].options"},
		"of the trunk's tenant here":     {"registers/iax item.tenant_uuid", "registers/iax.items", "registers/iax.total"},
		"the provisioning daemon has it": {"*.device_id", "*.items[].device_id", "*.lines[].device_id"},
		"on the disk":                    {"*.files", "*.items[].files"},
		"a merged view shows all values of an option that may be repeated, and the transport": {
			"endpoints/sip merged.endpoint_section_options", "endpoints/sip merged.identify_section_options", "endpoints/sip merged.transport",
		},
		"the number of each key, which were one for all keys that did the same; and of the user's own keys, also if there are none": {
			"funckeys/templates item.keys.*.id", "funckeys/templates.items[].keys.*.id", "user funckeys.keys.*.id", "user funckeys.id", "user funckeys.name",
		},
		"the number of an incoming call that leads to the user is shown too": {"user callerids/outgoing.items", "user callerids/outgoing.total"},
		"switchboards and agents who pause have service codes here":          {"extensions/features.items", "extensions/features.total"},
		"with its time zone":                                    {"user.created_at", "users.items[].created_at"},
		"lines of a user, with less of each":                    {"user.lines[].*", "users.items[].lines[].*"},
		"what the key starts has one meaning here":              {"asterisk/features/applicationmap.options.togglerecord"},
		"the guest of a meeting, and meetings are not here yet": {"endpoints/sip.items", "endpoints/sip.total"},
	} {
		for _, a := range attributes {
			differs[a] = reason
		}
	}
}

const allUsers = "the group of all users of a tenant has the tenant's UUID here"

// sameAnswers asks what the platform was asked, and compares.
func (in installation) sameAnswers(t *testing.T) {
	compared := map[string]int{}
	different := map[string][]string{}
	for _, a := range answers(t) {
		if notHere[a.Kind] != "" || a.Status != http.StatusOK {
			continue
		}
		status, body := in.get(t, a)
		if o, ok := a.Body.(map[string]any); ok && status == http.StatusNotFound {
			if name, _ := o["name"].(string); strings.HasPrefix(name, "wazo-all-users-tenant-") || strings.HasPrefix(name, "wazo-meeting-") {
				continue // see differs: under another UUID, or not here
			}
		}
		if status != a.Status {
			different[a.Kind+" status"] = append(different[a.Kind+" status"], fmt.Sprintf("%s %d", a.Path, status))
			continue
		}
		compared[a.Kind]++
		for at, what := range differences("", tidy(a.Body), tidy(body)) {
			if !slices.ContainsFunc([]string{a.Kind + at, "*" + at, a.Kind + numbered.ReplaceAllString(at, ".*.id"), a.Kind + last.ReplaceAllString(at, ".*")},
				func(known string) bool { return differs[known] != "" }) {
				different[a.Kind+at] = append(different[a.Kind+at], a.Path+": "+what)
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(different)) {
		t.Errorf("%s (%d): %.300s", at, len(different[at]), different[at][0])
	}
}

// tidy takes out what differs everywhere: addresses, and the order of what is in no order.
func tidy(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range x {
			if k != "links" && k != "href" {
				out[k] = tidy(v)
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = tidy(x[i])
		}
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(key(a), key(b)) })
		return out
	default:
		return v
	}
}

// key is by what items of a list are told apart.
func key(v any) string {
	if m, ok := v.(map[string]any); ok {
		found := ""
		for _, k := range []string{"client_id", "slug", "exten", "context", "name", "type", "id", "uuid"} {
			if m[k] != nil {
				found += fmt.Sprintf("%020v ", m[k])
			}
		}
		if found != "" {
			return found
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// differences are what is not the same, by its path, in which the items of lists have none.
func differences(at string, want, got any) map[string]string {
	out := map[string]string{}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if _, has := g[k]; !has {
				out[at+"."+k] = fmt.Sprintf("not there; was %.100v", w[k])
				continue
			}
			maps.Copy(out, differences(at+"."+k, w[k], g[k]))
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok {
			break
		}
		if len(g) != len(w) {
			out[at] = fmt.Sprintf("%d items, were %d: not there %.300v, new %.300v", len(g), len(w), without(w, g), without(g, w))
			return out
		}
		for i := range w {
			maps.Copy(out, differences(at+"[]", w[i], g[i]))
		}
		return out
	}
	if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b {
		out[at] = fmt.Sprintf("%.120v, was %.120v", b, a)
	}
	return out
}

// numbered is the number of a key at a position, and last the last attribute of a path.
var numbered, last = regexp.MustCompile(`\.[0-9]+\.id$`), regexp.MustCompile(`\.[a-z_]+$`)

// without are the items of a list whose keys are not in another.
func without(list, other []any) (out []any) {
	for _, item := range list {
		if !slices.ContainsFunc(other, func(o any) bool { return key(o) == key(item) }) {
			out = append(out, item)
		}
	}
	return out
}
