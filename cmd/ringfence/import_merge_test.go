package main_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringfence/ringfence/authsvc/mail/mailtest"
	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/moving/report"
)

// broken is a way to a gateway that loses the answers of some requests, after the gateway has done them.
func broken(t *testing.T, p *gatewaytest.Process) (address, certificate string) {
	t.Helper()
	to, err := url.Parse("https://localhost:" + p.HTTPSPort)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: transport}
	var changes atomic.Int64
	proxy.ModifyResponse = func(r *http.Response) error {
		n := changes.Load()
		if r.Request.Method != http.MethodGet {
			n = changes.Add(1)
		}
		if n%100 > 95 && n < 400 { // several in a row: a client sends one again by itself
			changes.Add(1)
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	server := httptest.NewTLSServer(proxy)
	t.Cleanup(server.Close)
	certificate = filepath.Join(t.TempDir(), "proxy.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(certificate, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, certificate
}

// A tenant of one gateway comes into another one that is in use, by the APIs of both. However often it is interrupted, all of it is there in the end,
// once.
func TestMergeATenant(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
			tenant := demo(t, old, "6", "--tenant", "acme")
			oldToken := old.Login(t, "admin", gatewaytest.Password)
			more(t, old, oldToken, tenant)

			mails := mailtest.Start(t, mailtest.Options{})
			p := withBackends(t, address(t), "mail "+mails.Addr+" {\nfrom pbx@example.com\nca "+mails.CAFile+"\n}\npublic_url https://pbx.example.com\n")
			token := p.Login(t, "admin", gatewaytest.Password)
			for range 3 { // so that numbers differ
				p.Do(t, "POST", "/api/confd/1.1/users", token, `{"firstname":"Mine"}`).Want(201)
			}
			for file, text := range map[string]string{"old.token": oldToken, "new.token": token} {
				if err := os.WriteFile(filepath.Join(p.Folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			from := []string{
				"import", "wazo", "--api", "https://localhost:" + old.HTTPSPort, "--api-token-file", "old.token",
				"--api-cacert", filepath.Join(old.Data, "tls", "certificate.pem"), "--tenant", "acme", "--names", "names.jsonl",
			}
			out, status := run(t, p.Folder, p.Env, append(from, "--dry-run", "--json")...)
			var tried report.Report
			if err := json.Unmarshal([]byte(out), &tried); err != nil || status != 0 || tried.Of("users").Made != 6 || len(tried.Left) > 0 {
				t.Fatalf("tried: status %d, %v:\n%s", status, err, out)
			}
			if got := p.Do(t, "GET", "/api/auth/0.1/tenants", token, "").Want(200).JSON("total"); got != 1.0 {
				t.Fatalf("after the dry run there are %v tenants", got)
			}

			server, certificate := broken(t, p)
			through := append(slices.Clone(from), "--server", server, "--cacert", certificate, "--token-file", "new.token", "--json", "--mails")
			failed := 0
			for out, status = run(t, p.Folder, p.Env, through...); status != 0 && failed < 20; failed++ {
				out, status = run(t, p.Folder, p.Env, through...)
			}
			var got report.Report
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || failed == 0 || len(got.Left) > 0 {
				t.Fatalf("after %d failures: status %d, %v:\n%s", failed, status, err, out)
			}
			for _, k := range got.Kinds {
				if want := tried.Of(k.Name).Made + tried.Of(k.Name).There; k.Made+k.There != want && !strings.HasPrefix(k.Name, "mails") {
					t.Errorf("%s: %d were made and %d there, want %d", k.Name, k.Made, k.There, want)
				}
			}
			into := p.Do(t, "GET", "/api/auth/0.1/tenants?name=acme", token, "").Want(200).List().Items[0].Text("uuid")
			names, err := os.ReadFile(filepath.Join(p.Folder, "names.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			endpoints := old.Do(t, "GET", "/api/confd/1.1/endpoints/sip", oldToken, "", resttest.In(tenant)).Want(200).Body
			for _, m := range regexp.MustCompile(`"password","([^"]+)"`).FindAllStringSubmatch(endpoints, -1) {
				if strings.Contains(out+string(names), m[1]) {
					t.Error("a password of a telephone is in the report, or in the file of names")
				}
			}
			compared, here := 0, shownBy(t, p, token, into, names, 1)
			for kind, want := range shownBy(t, old, oldToken, tenant, names, 0) {
				if kind == "/endpoints/sip/templates" || kind == "/sounds" {
					continue // also those that each tenant has
				}
				compared++
				for i := range want {
					if there := here[kind]; len(there) != len(want) || there[i] != want[i] {
						t.Errorf("%s: %d objects, want %d:\n%s\nwant\n%s", kind, len(there), len(want), there[min(i, len(there)):], want[i])
						break
					}
				}
			}
			if compared < 18 {
				t.Errorf("%d kinds were compared", compared)
			}
			// Somebody gets a mail, sets a password, logs in, and may do what they could, with their own objects.
			ada := p.Do(t, "GET", "/api/auth/0.1/users?username=ada", token, "", resttest.In(into)).Want(200).List().Items[0]
			user := p.Do(t, "GET", "/api/confd/1.1/users/"+ada.Text("uuid"), token, "", resttest.In(into)).Want(200)
			_, link, _ := strings.Cut(mails.Next(t).Link(t), "token=")
			p.Do(t, "POST", "/api/auth/0.1/users/password/reset?user_uuid="+ada.Text("uuid")+"&token="+link, "", `{"password":"a new password"}`).Want(204)
			hers := p.Login(t, "ada", "a new password")
			p.Do(t, "GET", fmt.Sprintf("/api/confd/1.1/users/%.0f", user.JSON("id")), hers, "").Want(200)
			p.Do(t, "GET", "/api/confd/1.1/users", hers, "").Want(403)

			// A key that is refused costs no other. What was refused is tried once more by the next run, with all that leads there.
			tenant = demo(t, old, "2", "--tenant", "keys")
			in := resttest.In(tenant)
			lot := old.Do(t, "POST", "/api/confd/1.1/parkinglots?recursive=true", oldToken,
				`{"name":"Lot","slots_start":"701","slots_end":"705","extensions":[{"exten":"700","context":"`+
					old.Do(t, "GET", "/api/confd/1.1/contexts?type=internal", oldToken, "", in).Want(200).List().Items[0].Text("name")+`"}]}`, in).Want(201)
			first := old.Do(t, "GET", "/api/confd/1.1/users?order=id", oldToken, "", in).Want(200).List().Items[0]
			old.Do(t, "PUT", "/api/confd/1.1/users/"+first.Text("uuid")+"/funckeys", oldToken, `{"keys":{"1":{"destination":{"type":"parking","parking_lot_id":`+
				fmt.Sprint(lot.JSON("id"))+`}},"2":{"destination":{"type":"custom","exten":"5"}},"3":{"destination":{"type":"custom","exten":"6"}}}}`, in).Want(204)
			line := old.Do(t, "GET", "/api/confd/1.1/lines", oldToken, "", in).Want(200).List().Items[0]
			login := line["endpoint_sip"].(map[string]any)["name"].(string)
			taken := p.Do(t, "POST", "/api/confd/1.1/endpoints/sip", token, `{"name":"`+login+`"}`).Want(201).Text("uuid")
			exten := old.Do(t, "GET", "/api/confd/1.1/extensions?exten=700", oldToken, "", in).Want(200).List().Items[0].Text("id")
			old.Do(t, "DELETE", fmt.Sprintf("/api/confd/1.1/parkinglots/%.0f/extensions/%s", lot.JSON("id"), exten), oldToken, "", in).Want(204)
			keys := slices.Clone(from)
			keys[slices.Index(keys, "acme")], keys[slices.Index(keys, "names.jsonl")] = "keys", "keys.jsonl"
			leaves := func(want string, kinds ...string) {
				t.Helper()
				out, status := run(t, p.Folder, p.Env, append(keys, "--json")...)
				got, left := report.Report{}, []string{}
				err := json.Unmarshal([]byte(out), &got)
				for _, l := range got.Left {
					left = append(left, l.Kind)
				}
				slices.Sort(left)
				if err != nil || status != 0 || !slices.Equal(slices.Compact(left), kinds) || !strings.Contains(out, want) {
					t.Fatalf("status %d, %v:\n%s", status, err, out)
				}
			}
			leaves("already", "endpoints/sip", "groups", "lines", "users") // without its telephone the line has no user
			p.Do(t, "DELETE", "/api/confd/1.1/endpoints/sip/"+taken, token, "").Want(204)
			leaves(`"reason":"funckeys 1: `, "users")
			into = p.Do(t, "GET", "/api/auth/0.1/tenants?name=keys", token, "").Want(200).List().Items[0].Text("uuid")
			if lines := p.Do(t, "GET", "/api/confd/1.1/lines", token, "", resttest.In(into)).Want(200).Body; !strings.Contains(lines, `"name":"`+login+`"`) {
				t.Errorf("no line has the endpoint %s: %s", login, lines)
			}
			first = p.Do(t, "GET", "/api/confd/1.1/users?order=id", token, "", resttest.In(into)).Want(200).List().Items[0]
			if keys := p.Do(t, "GET", "/api/confd/1.1/users/"+first.Text("uuid")+"/funckeys", token, "", resttest.In(into)).Want(200); len(keys.JSON("keys").(map[string]any)) != 2 {
				t.Errorf("keys: %s", keys.Body)
			}
		})
	}
}

// One tenant of a platform's dump comes into a gateway that is in use, by the same way.
func TestMergeATenantOfADump(t *testing.T) {
	if _, err := exec.LookPath("pg_restore"); err != nil {
		t.Skip(err)
	}
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	token := p.Login(t, "admin", gatewaytest.Password)
	dump := filepath.Join(gatewaytest.Repository(), "moving", "wazo", "testdata", "company-a.dump")
	imports := func(tenant string, more ...string) report.Report {
		t.Helper()
		out, status := run(t, p.Folder, p.Env, append([]string{"import", "wazo", dump, "--tenant", tenant, "--json"}, more...)...)
		var got report.Report
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
			t.Fatalf("status %d, %v:\n%s", status, err, out)
		}
		return got
	}
	for _, named := range []string{"Atelier Fournier", "3f481f52-2e86-4b01-93c1-463be01e4734"} { // by whichever name, what is left out of the dump is told
		got := imports(named, "--dry-run")
		if !slices.ContainsFunc(got.Notes, func(n report.Told) bool { return strings.HasPrefix(n.Reason, "Piano: plays files") }) || got.Of("table endpoint_sip").Left != 1 {
			t.Errorf("%s: %+v, %+v", named, got.Notes, got.Left)
		}
	}
	const lyon = "Atelier Fournier Lyon"
	if got := imports(lyon); got.Of("users").Made != 8 || got.Of("lines").Made != 8 || got.Of("auth/users").Made != 6 || got.Of("users").Left+got.Of("lines").Left > 0 {
		t.Errorf("made: %+v", got)
	}
	tenant := p.Do(t, "GET", "/api/auth/0.1/tenants?slug=lyon", token, "").Want(200).List().Items[0].Text("uuid")
	numbers := p.Do(t, "GET", "/api/confd/1.1/users?order=id", token, "", resttest.In(tenant)).Want(200).Body
	for _, number := range []string{"100", "107"} {
		if !strings.Contains(numbers, `"exten":"`+number+`"`) {
			t.Errorf("no user has the number %s: %s", number, numbers)
		}
	}
	if got := imports(lyon); got.Of("users").Made != 0 || got.Of("users").There != 8 {
		t.Errorf("again: %+v", got)
	}
}

// more gives a demo what it lacks.
func more(t *testing.T, p *gatewaytest.Process, token, tenant string) {
	t.Helper()
	in := resttest.In(tenant)
	create := func(path, body string) resttest.Answer {
		t.Helper()
		return p.Do(t, "POST", "/api/confd/1.1"+path, token, body, in).Want(201)
	}
	users := p.Do(t, "GET", "/api/confd/1.1/users?order=id", token, "", in).Want(200).List().Items
	ada, bob := users[0], users[1]
	inside := p.Do(t, "GET", "/api/confd/1.1/contexts?type=internal", token, "", in).Want(200).List().Items[0]
	set := func(path, body string) { t.Helper(); p.Do(t, "PUT", "/api/confd/1.1"+path, token, body, in).Want(204) }
	set("/contexts/"+inside.Text("id"), `{"conference_room_ranges":[{"start":"500000","end":"500999"}]}`)
	conference := create("/conferences?recursive=true", `{"name":"Room","extensions":[{"exten":"500001","context":"`+inside.Text("name")+`"}]}`)
	lot := create("/parkinglots?recursive=true", `{"name":"Lot","slots_start":"701","slots_end":"705","extensions":[{"exten":"700","context":"`+inside.Text("name")+`"}]}`)
	moh := create("/moh", `{"label":"Jazz","mode":"files"}`)
	paging := create("/pagings", `{"number":"12","name":"All","announce_sound":"beep"}`)
	create("/sounds", `{"name":"menus"}`)
	create("/ivr", `{"name":"Night","menu_sound":"menus/night","abort_destination":{"type":"sound","filename":"menus/bye"}}`)
	set(fmt.Sprintf("/pagings/%.0f/members/users", paging.JSON("id")), `{"users":[{"uuid":"`+bob.Text("uuid")+`"}]}`)
	pickup := create("/callpickups", `{"name":"Ours"}`)
	set(fmt.Sprintf("/callpickups/%.0f/interceptors/users", pickup.JSON("id")), `{"users":[{"uuid":"`+ada.Text("uuid")+`"}]}`)
	create("/endpoints/sip/templates", `{"label":"Ours","endpoint_section_options":[["context","`+inside.Text("name")+`"]]}`)
	set("/users/"+ada.Text("uuid"), `{"music_on_hold":"`+moh.Text("name")+`","ring_seconds":11}`)
	set("/users/"+ada.Text("uuid")+"/fallbacks", `{"noanswer_destination":{"type":"user","user_id":`+bob.Text("id")+`},"busy_destination":{"type":"conference","conference_id":`+
		fmt.Sprint(conference.JSON("id"))+`}}`)
	set("/users/"+bob.Text("uuid")+"/forwards", `{"noanswer":{"enabled":true,"destination":"123"}}`)
	set("/users/"+bob.Text("uuid")+"/funckeys", `{"keys":{"1":{"destination":{"type":"user","user_id":`+ada.Text("id")+`}},"2":{"destination":{"type":"parking","parking_lot_id":`+
		fmt.Sprint(lot.JSON("id"))+`}}}}`)
	queue := create("/queues", `{"name":"help"}`)
	set(fmt.Sprintf("/queues/%.0f/members/users/%s", queue.JSON("id"), bob.Text("id")), `{"priority":3}`)
	filter := fmt.Sprintf("/callfilters/%.0f", create("/callfilters", `{"name":"Ada's","source":"all","strategy":"all"}`).JSON("id"))
	set(filter+"/recipients/users", `{"users":[{"uuid":"`+ada.Text("uuid")+`"}]}`)
	set(filter+"/surrogates/users", `{"users":[{"uuid":"`+bob.Text("uuid")+`"}]}`)
	_, member, _ := strings.Cut(p.Do(t, "GET", "/api/confd/1.1"+filter, token, "", in).Want(200).Body, `"member_id":`)
	member, _, _ = strings.Cut(member, ",")
	set("/users/"+ada.Text("uuid")+"/funckeys", `{"keys":{"3":{"destination":{"type":"bsfilter","filter_member_id":`+member+`}}}}`)
	create("/external/apps/crm", `{"label":"CRM","configuration":{"a":1}}`)
	create("/users/"+ada.Text("uuid")+"/external/apps/crm", `{"label":"Hers","configuration":{"b":2}}`)
	number := create("/phone-numbers", `{"number":"+15550100"}`).Text("uuid")
	set("/phone-numbers/main", `{"phone_number_uuid":"`+number+`"}`)
	do := func(method, path, body string, want int) resttest.Answer {
		t.Helper()
		return p.Do(t, method, "/api/auth/0.1"+path, token, body, in).Want(want)
	}
	do("POST", "/users", `{"uuid":"`+ada.Text("uuid")+`","username":"ada","password":"her old password","email_address":"ada@example.org"}`, 200)
	policy := do("POST", "/policies", `{"name":"hers","acl":["confd.users.`+ada.Text("id")+`.read","!confd.users.`+bob.Text("uuid")+`.read"]}`, 200).Text("uuid")
	group := do("POST", "/groups", `{"name":"some"}`, 200).Text("uuid")
	do("PUT", "/groups/"+group+"/policies/"+policy, "", 204)
	do("PUT", "/groups/"+group+"/users/"+ada.Text("uuid"), "", 204)
}

// shownBy returns the objects of all kinds of a tenant, without what is another one in each installation. Old names are replaced by what the file
// of names says; which side it is of says which.
func shownBy(t *testing.T, p *gatewaytest.Process, token, tenant string, names []byte, side int) map[string][]string {
	t.Helper()
	replace := []string{}
	for line := range strings.Lines(string(names)) {
		var m struct{ Old, New map[string]any }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"uuid", "name"} {
			was, _ := m.Old[key].(string)
			is, _ := m.New[key].(string)
			if len(was) > 30 && is != "" { // generated ones
				replace = append(replace, []string{was, is}[side], []string{was, is}[0]+" replaced")
			}
		}
	}
	replacer := strings.NewReplacer(replace...)
	out := map[string][]string{}
	for _, path := range []string{
		"/applications", "/callfilters", "/callpermissions", "/callpickups", "/conferences", "/contexts", "/emergency-numbers", "/endpoints/custom", "/endpoints/sip",
		"/endpoints/sip/templates", "/extensions", "/external/apps", "/funckeys/templates", "/groups", "/incalls", "/ivr", "/lines", "/moh", "/outcalls", "/pagings",
		"/parkinglots", "/phone-numbers", "/queues", "/schedules", "/sounds", "/trunks", "/users", "/voicemails",
	} {
		all := p.Do(t, "GET", "/api/confd/1.1"+path+"?limit=1000", token, "", resttest.In(tenant)).Want(200).List().Items
		for _, o := range all {
			if path == "/users" {
				o["keys"] = p.Do(t, "GET", "/api/confd/1.1/users/"+o.Text("id")+"/funckeys", token, "", resttest.In(tenant)).Want(200).JSON("keys")
				o["apps"] = p.Do(t, "GET", "/api/confd/1.1/users/"+o.Text("id")+"/external/apps", token, "", resttest.In(tenant)).Want(200).JSON("items")
			}
			text, err := json.Marshal(withoutNumbers(map[string]any(o)))
			if err != nil {
				t.Fatal(err)
			}
			out[path] = append(out[path], replacer.Replace(string(text)))
		}
		slices.Sort(out[path])
	}
	return out
}

func withoutNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if label, _ := v["label"].(string); slices.Contains([]string{"global", "webrtc", "registration_trunk", "meeting_guest", "twilio_trunk"}, label) {
			delete(v, "uuid") // of the templates that each tenant has
		}
		if v["member_id"] != nil {
			delete(v, "exten") // a code and that number
		}
		for name, inner := range v {
			if name == "id" || name == "links" || name == "href" || name == "tenant_uuid" || name == "created_at" || strings.HasSuffix(name, "_id") {
				delete(v, name)
			} else {
				v[name] = withoutNumbers(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNumbers(v[i])
		}
	}
	return v
}
