package main_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/moving/report"
)

// platform answers as the existing platform did when it was asked for everything that the sample company has. It cannot run here, so these are
// its recorded answers; lists are recorded whole, and answered in pages.
type platform struct {
	mu      sync.Mutex
	answers map[string]json.RawMessage // by tenant and path, and by path what was answered once
	ids     map[string]string          // the UUIDs of users, who are asked for by their numbers too
	unknown []string                   // what is asked for and was not recorded
}

func startPlatform(t *testing.T) (p *platform, address, certificate string) {
	t.Helper()
	file, err := os.Open(filepath.Join(gatewaytest.Repository(), "moving", "wazo", "testdata", "company-a.answers.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	p = &platform{answers: map[string]json.RawMessage{}, ids: map[string]string{}}
	asked := map[string][]json.RawMessage{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var a struct {
			Path, Tenant string
			Status       int
			Body         json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if a.Status != http.StatusOK {
			continue
		}
		p.answers[a.Tenant+" "+a.Path] = a.Body
		var user struct {
			ID   json.Number
			UUID string
		}
		if below, is := strings.CutPrefix(a.Path, "/api/confd/1.1/users/"); is && !strings.ContainsAny(below, "/?") && below != "export" && below != "subscriptions" {
			if err := json.Unmarshal(a.Body, &user); err != nil {
				t.Fatalf("%s: %v", a.Path, err)
			}
			p.ids[user.ID.String()] = user.UUID
		}
		asked[a.Path] = append(asked[a.Path], a.Body)
		if a.Path == "/api/confd/1.1/endpoints/sip/templates" { // it was not asked which of them are the tenant's own
			var list struct {
				Items []struct{ UUID, Label string }
			}
			if err := json.Unmarshal(a.Body, &list); err != nil {
				t.Fatal(err)
			}
			own := map[string]any{"uuid": a.Tenant, "sip_templates_generated": true}
			for _, template := range list.Items {
				own[template.Label+"_sip_template_uuid"] = template.UUID
			}
			text, err := json.Marshal(own)
			if err != nil {
				t.Fatal(err)
			}
			p.answers["/api/confd/1.1/tenants/"+a.Tenant] = text
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for path, once := range asked { // an object, and a list that is the same for each tenant
		if len(once) == 1 {
			p.answers[path] = once[0]
		}
	}
	server := httptest.NewTLSServer(p)
	t.Cleanup(server.Close)
	certificate = filepath.Join(t.TempDir(), "platform.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return p, server.URL, certificate
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	path := r.URL.Path
	if below, is := strings.CutPrefix(path, "/api/confd/1.1/users/"); is {
		id, rest, _ := strings.Cut(below, "/")
		if uuid := p.ids[id]; uuid != "" {
			path = strings.TrimSuffix("/api/confd/1.1/users/"+uuid+"/"+rest, "/")
		}
	}
	answer := p.answers[r.Header.Get("Wazo-Tenant")+" "+path]
	if answer == nil {
		answer = p.answers[path]
	}
	if answer == nil || r.Method != http.MethodGet {
		p.unknown = append(p.unknown, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Wazo-Tenant"))
		http.Error(w, `{"message": "not found"}`, http.StatusNotFound)
		return
	}
	_, _ = w.Write(answer)
}

// fournier is a tenant of the sample company.
const fournier = "3f481f52-2e86-4b01-93c1-463be01e4734"

// A login that was not in the group of all users would gain what each login has here: it is left out, and told.
func TestMergeLeavesOutWhoWasNotAmongAllUsers(t *testing.T) {
	old, address, certificate := startPlatform(t)
	const groups = "/api/auth/0.1/users/31f50e67-aeca-4867-abe6-813a7785b7d9/groups"
	if was := string(old.answers[fournier+" "+groups]); !strings.Contains(was, "wazo-all-users") {
		t.Fatalf("the groups of Alice: %s", was)
	}
	old.answers[fournier+" "+groups] = json.RawMessage(`{"items": [], "total": 0, "filtered": 0}`)
	p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
	if err := os.WriteFile(filepath.Join(p.Folder, "old.token"), []byte("a token of the platform"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, status := run(t, p.Folder, p.Env, "import", "wazo", "--api", address, "--api-token-file", "old.token", "--api-cacert", certificate,
		"--tenant", fournier, "--names", "names.jsonl", "--dry-run", "--json")
	var got report.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	if !slices.ContainsFunc(got.Left, func(l report.Told) bool {
		return l.Kind == "auth/users" && strings.Contains(l.Object, "Alice") && strings.Contains(l.Reason, "group of all users")
	}) {
		t.Errorf("left out: %+v", got.Left)
	}
}

// By its API the platform's tenant becomes what it becomes from its dump, attribute by attribute.
func TestMergeWhatThePlatformAnswered(t *testing.T) {
	if _, err := exec.LookPath("pg_restore"); err != nil {
		t.Skip(err)
	}
	old, address, certificate := startPlatform(t)
	merge := func(from ...string) (report.Report, map[string][]string) {
		t.Helper()
		p := gatewaytest.Start(t, gatewaytest.Settings{}).Ready(t)
		token := p.Login(t, "admin", gatewaytest.Password)
		if err := os.WriteFile(filepath.Join(p.Folder, "old.token"), []byte("a token of the platform"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, status := run(t, p.Folder, p.Env, append(from, "--tenant", fournier, "--names", "names.jsonl", "--json")...)
		var got report.Report
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
			t.Fatalf("status %d, %v:\n%s", status, err, out)
		}
		names, err := os.ReadFile(filepath.Join(p.Folder, "names.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		into := p.Do(t, "GET", "/api/auth/0.1/tenants?slug=fournier", token, "").Want(200).List().Items[0].Text("uuid")
		return got, shownBy(t, p, token, into, names, 1)
	}
	byAPI, here := merge("import", "wazo", "--api", address, "--api-token-file", "old.token", "--api-cacert", certificate)
	byDump, want := merge("import", "wazo", filepath.Join(gatewaytest.Repository(), "moving", "wazo", "testdata", "company-a.dump"))
	for _, k := range byDump.Kinds {
		if got := byAPI.Of(k.Name); got.Made != k.Made {
			t.Errorf("%s: %d were made by the API, and %d from the dump", k.Name, got.Made, k.Made)
		}
	}
	for kind := range want {
		if kind == "/endpoints/sip/templates" || kind == "/sounds" {
			continue // also those that each tenant has, and what comes with files alone
		}
		got, want := inNoOrder(t, kind, here[kind]), inNoOrder(t, kind, want[kind])
		if diff := slices.IndexFunc(want, func(o string) bool { return !slices.Contains(got, o) }); diff >= 0 || len(got) != len(want) {
			t.Errorf("%s: %d objects, from the dump %d:\n%s\nwant\n%s", kind, len(got), len(want), strings.Join(got, "\n"), want[max(diff, 0)])
		}
	}
	var left []string
	for _, l := range byAPI.Left {
		left = append(left, l.Kind+": "+l.Object)
	}
	if want := []string{
		"meetings: *41231344", "ingresses/http: 405b671e-4df5-4ee0-9f2c-c05eba333e4f", "auth/policies: wazo-all-users-policy",
		"auth/policies: wazo_default_admin_policy", "auth/policies: wazo_default_master_user_policy",
		"auth/policies: wazo_default_admin_policy of wazo_default_admin_group", "auth/users: CRM", "auth/policies: wazo_default_admin_policy of Théo Fournier",
	}; !slices.Equal(left, want) {
		t.Errorf("left out: %q, want %q", left, want)
	}
	for _, asked := range old.unknown {
		if !notRecorded.MatchString(asked) {
			t.Errorf("%s: nothing answers", asked)
		}
	}
}

// notRecorded is what our import asks for, and the platform does not have or was not asked for.
var notRecorded = regexp.MustCompile(`^GET /api/(confd/1\.1/(emergency-numbers\?|queues/\d+/fallbacks )|auth/0\.1/groups/[-0-9a-f]+/policies\?)`)

// inNoOrder sorts the options of objects, which the platform's database has in no order, and takes out what was not recorded.
func inNoOrder(t *testing.T, kind string, objects []string) (out []string) {
	t.Helper()
	for _, text := range objects {
		var o map[string]any
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		for name, v := range o {
			if options, is := v.([]any); is && strings.HasSuffix(name, "options") {
				slices.SortFunc(options, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
		if kind == "/queues" {
			delete(o, "fallbacks") // see notRecorded
		}
		sorted, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(sorted))
	}
	return out
}
