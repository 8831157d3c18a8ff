package helpers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// No web page reaches the plain port: not by a name that leads to a loopback address, and not from another origin.
func TestPlainPortIsForToolsOnThisMachine(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		port := w.plain.Base[strings.LastIndex(w.plain.Base, ":"):]
		host := func(name string) resttest.Edit { return func(r *http.Request) { r.Host = name } }
		h := resttest.Header
		local := func() {
			for name, edits := range map[string][]resttest.Edit{
				"tool": nil, "localhost": {host("localhost" + port)}, "LOCALHOST": {host("LOCALHOST" + port)}, "IPv6": {host("[::1]" + port)},
				"no port": {host("127.0.0.1")}, "IPv6 without port": {host("[::1]")}, "another loopback address": {host("127.8.8.8" + port)},
				"typed by the user": {h("Sec-Fetch-Site", "none")}, "own page": {h("Sec-Fetch-Site", "same-origin"), h("Origin", "http://127.0.0.1"+port)},
			} {
				if a := w.plain.Get("/status_check", edits...); a.Status != 200 {
					t.Errorf("%s: %d %s", name, a.Status, a.Body)
				}
			}
		}
		local()
		w.mailbox("ctx-a", "1001")
		w.unchanged(func() {
			for name, edits := range map[string][]resttest.Edit{
				"rebound name": {host("evil.example" + port)}, "rebound name, port 80": {host("evil.example")}, "any address": {host("0.0.0.0" + port)},
				"its own name": {host("pbx.example.com" + port)}, "trick": {host("localhost.evil.example" + port)}, "number": {host("2130706433" + port)},
				"dot": {host("localhost." + port)}, "user": {host("localhost@evil.example" + port)},
				"page elsewhere": {h("Origin", "https://evil.example")}, "sandboxed page": {h("Origin", "null")}, "extension": {h("Origin", "moz-extension://x")},
				"page of another local server": {h("Origin", "http://127.0.0.1:3000")}, "page over TLS": {h("Origin", "https://127.0.0.1"+port)},
				"two origins":     {h("Origin", "http://127.0.0.1"+port), h("Origin", "https://evil.example")},
				"image elsewhere": {h("Sec-Fetch-Site", "cross-site")}, "image of another local server": {h("Sec-Fetch-Site", "same-site")},
				"two sites": {h("Sec-Fetch-Site", "none"), h("Sec-Fetch-Site", "cross-site")}, "unknown site": {h("Sec-Fetch-Site", "")},
				"image, old browser": {h("Referer", "https://evil.example/page")}, "image, old browser, like ours": {h("Referer", "http://127.0.0.1"+port+".evil.example/")},
				"prefetch": {h("Sec-Fetch-Site", "none"), h("Sec-Purpose", "prefetch;prerender")}, "prefetch, old browser": {h("Purpose", "prefetch")},
				"prefetch, older browser": {h("X-Moz", "prefetch")},
			} {
				if name == "unknown site" {
					edits = []resttest.Edit{func(r *http.Request) { r.Header["Sec-Fetch-Site"] = []string{""} }}
				}
				for _, call := range [][2]string{
					{"GET", "/delete_voicemail?name=1001&context=ctx-a"},
					{"POST", "/exec_request_handlers"},
					{"GET", "/status_check"},
					{"GET", "/api/openapi.json"},
					{"GET", "/nowhere"},
					{"OPTIONS", "/delete_voicemail"},
				} {
					if a := w.plain.Do(call[0], call[1], nil, edits...); a.Status != 403 {
						t.Errorf("%s: %s %s: %d %s", name, call[0], call[1], a.Status, a.Body)
					}
				}
			}
		})
		// A link in a mail, or the text in the address bar, may show something, and changes nothing.
		for name, edit := range map[string]resttest.Edit{
			"browser": h("Sec-Fetch-Site", "none"), "old browser": func(r *http.Request) { r.Header.Set("User-Agent", "Mozilla/5.0 (X11)") },
			"own page": h("Sec-Fetch-Site", "same-origin"),
		} {
			w.unchanged(func() {
				for _, path := range []string{
					"/delete_voicemail?name=1001&context=ctx-a", "/commonconf_apply",
					"/move_voicemail?old_mailbox=1001&old_context=ctx-a&new_mailbox=7&new_context=ctx-a",
				} {
					if a := w.plain.Get(path, edit); a.Status != 403 {
						t.Errorf("%s: %s: %d %s", name, path, a.Status, a.Body)
					}
				}
			})
			w.plain.Get("/status_check", edit).Want(200)
		}
		// The request's ID is ours: it is stored.
		a := w.plain.Get("/delete_voicemail?name=1001&context=ctx-a", h("X-Request-Id", "a\xff"+strings.Repeat("b", 9000))).Want(200)
		if id := a.Header.Get("X-Request-Id"); len(id) != 36 {
			t.Errorf("the request's ID is %.100q", id)
		}
		// A form can send its text as one of three types, and none is taken.
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
			w.plain.Do("POST", "/exec_request_handlers", `{"ipbx":["core reload"]}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) }).Want(415)
		}
		// Whoever is not on this machine has no business here, whatever the listener lets through.
		for remote, status := range map[string]int{
			"192.0.2.1:1": 403, "[2001:db8::1]:1": 403, "junk": 403, "127.0.0.1:1": 200, "[::1]:1": 200, "[::ffff:127.0.0.1]:1": 200, "@": 200, "": 200,
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status_check", http.NoBody)
			r.Host, r.RemoteAddr = "localhost", remote
			r.Header.Set("Accept", "application/json")
			recorder := httptest.NewRecorder()
			if w.service.Plain().ServeHTTP(recorder, r); recorder.Code != status {
				t.Errorf("from %q: %d, want %d", remote, recorder.Code, status)
			}
		}
		for host, status := range map[string]int{"[::1%25lo]:80": 403, "": 403, "::1": 200, "[::ffff:127.0.0.1]": 200, "[::ffff:192.0.2.1]": 403} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status_check", http.NoBody)
			r.Host, r.RemoteAddr = host, "127.0.0.1:1"
			r.Header.Set("Accept", "application/json")
			recorder := httptest.NewRecorder()
			if w.service.Plain().ServeHTTP(recorder, r); recorder.Code != status {
				t.Errorf("for the host %q: %d, want %d", host, recorder.Code, status)
			}
		}
		w.use(true)
		w.plain.Get("/status_check").Want(404).Says("switched off")
		w.as("master", "#").Get("/status_check").Want(200)
		w.use(false)
		local()
	})
}
