package helpers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

const notFound = `{"code":404,"message":"Not found"}`

func TestDeleteVoicemail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		admin := w.as("master", "#")
		for name, c := range map[string]*resttest.Client{"behind the gate": admin, "on the plain port": w.plain} {
			t.Run(name, func(t *testing.T) {
				c := *c
				c.T = t
				for method, path := range map[string]string{
					"GET": "/delete_voicemail?name=1001&context=ctx-a", "DELETE": "/delete_voicemail?mailbox=1001&context=ctx-a",
				} {
					box, neighbour := w.mailbox("ctx-a", "1001"), w.mailbox("ctx-a", "1002")
					if a := c.Do(method, path, nil).Want(200); a.Body != "null" || a.Header.Get("Content-Type") != "application/json" {
						t.Errorf("%s: %q %v", method, a.Body, a.Header)
					}
					if exists(box) || !exists(neighbour) {
						t.Errorf("%s: the mailbox is there: %t, its neighbour: %t", method, exists(box), exists(neighbour))
					}
					if a := c.Do(method, path, nil).Want(404); a.Body != notFound {
						t.Errorf("%s again: %s", method, a.Body)
					}
				}
				for _, path := range []string{"name=1001&context=nowhere", "name=nobody&context=ctx-a", "mailbox=999&context=ctx-a"} {
					if a := c.Get("/delete_voicemail?" + path).Want(404); a.Body != notFound {
						t.Errorf("%s: %s", path, a.Body)
					}
				}
			})
		}
		left, err := os.ReadDir(filepath.Join(w.spool, helpers.TrashName))
		if err != nil || len(left) != 0 {
			t.Errorf("in the trash: %v, %v", left, err)
		}
	})
}

// A request without a context means the only internal context of its tenant or, on the plain port, of all tenants.
func TestDefaultContext(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		of := func(tenant string) string { return "ctx-" + tenant + "-internal-11111111-1111-4111-8111-111111111111" }
		w.plain.Get("/delete_voicemail?name=1001").Want(404).Says("Not found")
		w.names.contexts = map[string][]string{w.tenants["a"]: {of("a")}}
		box := w.mailbox(of("a"), "1001")
		w.plain.Get("/delete_voicemail?name=1001").Want(200)
		if exists(box) {
			t.Error("the default context of the plain port is not the only tenant's")
		}
		w.names.contexts[w.tenants["b"]] = []string{of("b")}
		boxA, boxB := w.mailbox(of("a"), "1001"), w.mailbox(of("b"), "1001")
		w.unchanged(func() { w.plain.Get("/delete_voicemail?name=1001").Want(400).Says("context: Is required") })
		w.as("a", "sysconfd.voicemails.delete").Get("/delete_voicemail?name=1001").Want(200)
		if exists(boxA) || !exists(boxB) {
			t.Errorf("tenant a's is there: %t, tenant b's: %t", exists(boxA), exists(boxB))
		}
		w.as("master", "#").Get("/delete_voicemail?name=1001", resttest.In(w.tenants["b"])).Want(200)
		if exists(boxB) {
			t.Error("the header names tenant b, and its voicemail is still there")
		}
		w.names.contexts[w.tenants["a"]] = append(w.names.contexts[w.tenants["a"]], "ctx-a-more")
		w.as("a", "#").Get("/delete_voicemail?name=1001").Want(400).Says("context: Is required")
	})
}

// hostileNames are not names of folders of the spool. What is not even text in a query is refused too.
var hostileNames = []string{
	"", ".", "..", "../b", "../../etc", "a/b", "/etc", "a\\b", "*", "?", "[0-9]", "~", "-rf /", "1001\n", "\n1001", "1001\r", "1001\x00", "\x00",
	"1001\x00.txt", " 1001", "1001 ", "1001;ls", "$(id)", "`id`", "%2e%2e", "..%2f", "\u202e1001", "١٠٠١", "１００１", "\xff", ".lock",
	helpers.TrashName, strings.Repeat("1", 300), strings.Repeat("a", 80),
}

func TestMoveVoicemail(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		box, taken := w.mailbox("ctx-a", "1001"), w.mailbox("ctx-a", "1002")
		if err := os.Chmod(filepath.Join(w.spool, "ctx-a"), 0o2770); err != nil {
			t.Fatal(err)
		}
		const move = "/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox="
		w.unchanged(func() {
			w.plain.Get(move + "1002&new_context=ctx-a").Want(409).Says("is kept")
			w.plain.Get(move + "1001&new_context=ctx-a").Want(409)
			if a := w.plain.Get("/move_voicemail?old_mailbox=1&old_context=ctx-a&new_mailbox=2&new_context=ctx-new").Want(200); a.Body != "null" {
				t.Errorf("nothing to move: %s", a.Body)
			}
			w.plain.Get("/move_voicemail?old_mailbox=1&old_context=nowhere&new_mailbox=2&new_context=ctx-new").Want(200)
			w.plain.Get("/move_voicemail?old_mailbox=1&old_context=nowhere&new_mailbox=2").Want(400).Says("new_context: Is required")
		})
		if err := os.Mkdir(filepath.Join(w.spool, "ctx-a", "1003"), 0o750); err != nil {
			t.Fatal(err)
		}
		w.plain.Get(move + "1003&new_context=ctx-a").Want(409) // an empty mailbox is one too
		if a := w.plain.Do("POST", move+"2001&new_context=ctx-b", nil).Want(200); a.Body != "null" {
			t.Errorf("%s", a.Body)
		}
		if exists(box) || !exists(taken) || !exists(filepath.Join(w.spool, "ctx-b", "2001", "INBOX", "msg0000.txt")) {
			t.Errorf("%v", w.files(w.spool))
		}
		old, err := os.Stat(filepath.Join(w.spool, "ctx-a"))
		if err != nil {
			t.Fatal(err)
		}
		made, err := os.Stat(filepath.Join(w.spool, "ctx-b"))
		if err != nil || made.Mode() != old.Mode() {
			t.Errorf("the new context's folder has mode %v, its neighbour %v; %v", made.Mode(), old.Mode(), err)
		}
	})
}

func TestDeleteContextAndMOH(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailbox("ctx-a", "1001")
		w.mailbox("ctx-a", "1002")
		w.write(filepath.Join(w.spool, "ctx-a", "stray"))
		kept := w.mailbox("ctx-b", "1001")
		music := "moh-slug_1-11111111-1111-4111-8111-111111111111"
		w.write(filepath.Join(w.moh, music, "a.wav"))
		w.write(filepath.Join(w.moh, "default", "a.wav"))
		for range 2 { // what is gone already is no fault of the client
			for _, path := range []string{"/voicemails_context?context=ctx-a", "/moh?name=" + music} {
				if a := w.plain.Do("DELETE", path, nil).Want(200); a.Body != "null" {
					t.Errorf("%s: %s", path, a.Body)
				}
			}
		}
		if exists(filepath.Join(w.spool, "ctx-a")) || !exists(kept) || exists(filepath.Join(w.moh, music)) || !exists(filepath.Join(w.moh, "default", "a.wav")) {
			t.Errorf("%v %v", w.files(w.spool), w.files(w.moh))
		}
		w.plain.Get("/moh?name=" + music).Want(405)
		w.plain.Get("/voicemails_context?context=ctx-b").Want(405)
		for _, name := range []string{"default", "moh-a-1", music + "x", strings.ToUpper(music), strings.Replace(music, "slug_1", "elevenchars", 1)} {
			w.plain.Do("DELETE", "/moh?name="+name, nil).Want(400)
		}
	})
}

// Without any folder there are no voicemails, and nothing is an error of ours.
func TestNoFolders(t *testing.T) {
	each(t, func(_ *testing.T, w *world) {
		for _, folder := range []string{"", filepath.Join(w.spool, "nowhere")} {
			w.service.Use(helpers.Settings{Voicemail: folder, MOH: folder})
			w.plain.Get("/delete_voicemail?name=1&context=ctx-a").Want(404)
			w.plain.Get("/move_voicemail?old_mailbox=1&old_context=a&new_mailbox=2&new_context=a").Want(200)
			w.plain.Do("DELETE", "/voicemails_context?context=ctx-a", nil).Want(200)
			w.plain.Do("DELETE", "/moh?name=moh-a-11111111-1111-4111-8111-111111111111", nil).Want(200)
		}
	})
}
