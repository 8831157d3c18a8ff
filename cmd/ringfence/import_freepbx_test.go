package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/moving/report"
)

const freepbxExtensions = "\ufeffextension,name,secret,tech,outboundcid,ringtimer,voicemail_enable,voicemail_vmpwd,voicemail_email,voicemail_options," +
	"disallow,allow,dtmfmode,noanswer_dest,busy_dest,findmefollow_enabled,findmefollow_grplist,findmefollow_pre_ring\n" +
	`1001,Ada Lovelace,s3cret-of-1001,pjsip,"""Ada"" <5550100>",20,yes,2717,ada@example.org,attach=yes|saycid=no|delete=no,all,ulaw&alaw,rfc4733,"ext-local,1002,1","app-announcement-1,s,1",,,` + "\n" +
	`1002,Bob,s3cret-of-1002,sip,,0,,,,,,,,"ext-local,vmb1001,1",,yes,1002-5550199#,15` + "\n" +
	`1003,Cy Coleman,s3cret-of-1003,pjsip,,,,,,,,,,,,,,` + "\n" +
	`1004,Door,,dahdi,,,,,,,,,,,,,,` + "\n"

const freepbxDIDs = "cidnum,extension,destination,description\n" +
	",5550100,\"from-did-direct,1001,1\",Ada\n,+5550101,\"ext-group,600,1\",Sales\n,5550102,\"ivr-1,s,1\",Menu\n5,5550103,\"from-did-direct,1001,1\",\n" +
	",5550104,\"app-blackhole,busy,1\",Nobody\n"

// The files of a FreePBX's bulk handler come into a tenant of a gateway that is in use, with the logins of the telephones; imported again, they
// change what has the numbers. A dry run does the same in a copy.
func TestImportFreePBX(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.Start(t, gatewaytest.Settings{Database: address(t)}).Ready(t)
			token := p.Login(t, "admin", gatewaytest.Password)
			acme := p.Do(t, "POST", "/api/auth/0.1/tenants", token, `{"name":"acme"}`).Want(200).JSON("uuid").(string)
			get := func(path string) resttest.Answer {
				t.Helper()
				return p.Do(t, "GET", "/api/confd/1.1"+path, token, "", resttest.In(acme)).Want(200)
			}
			first := func(path string) resttest.Object {
				t.Helper()
				return get(path).List().Items[0]
			}
			at := func(o resttest.Object, path ...string) any {
				var v any = map[string]any(o)
				for _, name := range path {
					if list, is := v.([]any); is {
						v = list[0]
					}
					v = v.(map[string]any)[name]
				}
				return v
			}
			imports := func(extensions, dids string, args ...string) (string, int, report.Report) {
				t.Helper()
				files := []string{filepath.Join(p.Folder, "extensions.csv"), filepath.Join(p.Folder, "dids.csv")}
				for i, text := range []string{extensions, dids} {
					if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				out, status := run(t, p.Folder, p.Env, append([]string{"import", "freepbx", files[0], files[1], "--tenant", "acme"}, args...)...)
				for _, secret := range []string{"s3cret", "2717"} {
					if strings.Contains(out, secret) {
						t.Errorf("it tells a secret:\n%s", out)
					}
				}
				var r report.Report
				if status == 0 {
					_ = json.Unmarshal([]byte(out), &r)
				}
				return out, status, r
			}

			// Faults of a file are errors with their lines.
			out, status, _ := imports(freepbxExtensions+"1001,Twice"+strings.Repeat(",", 16)+"\n1005,Short\n", freepbxDIDs)
			for _, want := range []string{`line 6: extension "1001" is in line 2 already`, "line 7: the row has 2 cells, and the first row names 18 columns"} {
				if status == 0 || !strings.Contains(out, want) {
					t.Errorf("status %d, want %s:\n%s", status, want, out)
				}
			}
			// Somebody else has the login of one telephone already.
			p.Do(t, "POST", "/api/confd/1.1/endpoints/sip", token, `{"name":"1003"}`).Want(201)

			want := report.Report{Kinds: []report.Kind{
				{Name: "contexts", Made: 2}, {Name: "extensions", Made: 2, Left: 3}, {Name: "incoming numbers", Made: 2, Left: 3},
			}}
			for _, how := range [][]string{{"--dry-run", "--json"}, {"--json"}} {
				out, status, got := imports(freepbxExtensions, freepbxDIDs, how...)
				if status != 0 || !sameJSON(t, got.Kinds, want.Kinds) {
					t.Fatalf("%v: status %d:\n%s", how, status, out)
				}
				for _, says := range []string{
					"1 extensions are of chan_sip", "not read: dtmfmode.", "tech=dahdi is not here", `busy_dest: it leads to \"app-announcement-`,
					"it leads to a group, which is not in these files", `it leads to \"ivr-`, "by the caller's number",
				} {
					if !strings.Contains(out, says) {
						t.Errorf("%v does not say %q:\n%s", how, says, out)
					}
				}
				if dry := len(how) > 1; dry != (get("/users").JSON("total") == 0.0) {
					t.Errorf("after %v there are %v users", how, get("/users").JSON("total"))
				}
			}
			ada, bob := first("/users?exten=1001"), first("/users?exten=1002")
			if got := ada; got.Text("lastname") != "Lovelace" || got.Text("ring_seconds") != "20" || got.Text("outgoing_caller_id") != `"Ada" <5550100>` {
				t.Errorf("Ada: %v", got)
			}
			uuid := at(ada, "lines", "endpoint_sip", "uuid").(string)
			for _, says := range []string{`["username","1001"]`, `["password","s3cret-of-1001"]`, `["allow","ulaw,alaw"]`} {
				if text := get("/endpoints/sip/" + uuid).Body; !strings.Contains(strings.ReplaceAll(text, " ", ""), says) {
					t.Errorf("the telephone of Ada has no %s: %s", says, text)
				}
			}
			if got := at(ada, "fallbacks", "noanswer_destination", "user_id"); got != bob["id"] {
				t.Errorf("Ada's calls go to %v", got)
			}
			if got := at(bob, "forwards", "noanswer", "destination"); got != "5550199" {
				t.Errorf("Bob's calls go to %v", got)
			}
			if box := first("/voicemails"); box["password"] != "2717" || box["attach_audio"] != true || box["number"] != "1001" {
				t.Errorf("the mailbox: %v", box)
			}

			// The group is made meanwhile, and the file is changed.
			in := first("/contexts?type=internal")
			p.Do(t, "PUT", "/api/confd/1.1/contexts/"+in.Text("id"), token, `{"group_ranges":[{"start":"600","end":"699"}]}`).Want(204)
			p.Do(t, "POST", "/api/confd/1.1/groups?recursive=true", token,
				`{"label":"Sales","extensions":[{"exten":"600","context":"`+in.Text("name")+`"}]}`, resttest.In(acme)).Want(201)
			changed := strings.NewReplacer("Ada Lovelace,s3cret-of-1001", "Ada King,s3cret-anew", "sip,,0,,", "sip,,25,yes,").Replace(freepbxExtensions)
			if out, status, got := imports(changed, freepbxDIDs, "--json"); status != 0 || got.Of("extensions").Changed != 2 || got.Of("incoming numbers").Made != 1 || got.Of("incoming numbers").Changed != 2 {
				t.Fatalf("again: status %d:\n%s", status, out)
			}
			if text := get("/endpoints/sip/" + uuid).Body; !strings.Contains(text, "s3cret-anew") || strings.Contains(text, "s3cret-of-1001") {
				t.Errorf("the telephone of Ada has %s", text)
			}
			for path, total := range map[string]float64{"/users": 2, "/lines": 2, "/extensions": 6, "/voicemails": 2, "/incalls": 3} {
				if got := get(path).JSON("total"); got != total {
					t.Errorf("%s: %v, want %v", path, got, total)
				}
			}
		})
	}
}

// sameJSON reports whether two values are written alike.
func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	var texts [2]string
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts[0] == texts[1]
}
