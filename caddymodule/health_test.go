package caddymodule_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
	"github.com/ringfence/ringfence/internal/rest/resttest"
)

// A full disk, and one that cannot be written, make the gateway unready, with the reason, until they are mended: that of the data folder, and
// that of a database elsewhere.
func TestFullDiskIsNotReady(t *testing.T) {
	elsewhere := t.TempDir()
	g := loadDefault(t, "sqlite://"+filepath.Join(elsewhere, "ringfence.db"))
	becomes := func(status int, body string) {
		t.Helper()
		gatewaytest.Eventually(t, time.Minute, func() error {
			if a := g.Do(t, "GET", "/readyz", "", ""); a.Status != status || a.Body != `{"status":"`+body+`"}` {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
	}
	becomes(200, "ready")
	for _, folder := range []string{filepath.Join(g.Dir, "data"), elsewhere} {
		probe := filepath.Join(folder, ".room")
		// What is written there is refused as on a full disk. The probe removes what it wrote, and so mends it.
		if err := os.Symlink("/dev/full", probe); err != nil {
			t.Fatal(err)
		}
		becomes(503, "disk full")
		becomes(200, "ready")
		if err := os.Mkdir(probe, 0o700); err != nil {
			t.Fatal(err)
		}
		becomes(503, "disk not writable")
		g.Do(t, "GET", "/healthz", "", "").Want(200)
		becomes(200, "ready")
		if _, err := os.Lstat(probe); !os.IsNotExist(err) {
			t.Errorf("the probe's file stays: %v", err)
		}
	}
}

// The plain port answers nothing to a web page, whatever it serves.
func TestPlainPortRefusesPages(t *testing.T) {
	g := loadDefault(t, "")
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics", "/status_check", "/nothing"} {
		for name, edit := range map[string]resttest.Edit{
			"foreign origin": resttest.Header("Origin", "https://evil.example"), "foreign page": resttest.Header("Referer", "https://evil.example/page"),
			"foreign site": resttest.Header("Sec-Fetch-Site", "cross-site"), "another local server": resttest.Header("Sec-Fetch-Site", "same-site"),
			"prefetch": resttest.Header("Sec-Purpose", "prefetch"), "rebound name": func(r *http.Request) { r.Host = "evil.example" },
		} {
			if a := g.Do(t, "GET", g.Helpers+path, "", "", edit); a.Status != 403 {
				t.Errorf("%s: %s: %d %.80s", name, path, a.Status, a.Body)
			}
		}
	}
	own := "http://" + g.Helpers[len("http://"):]
	for _, path := range []string{"/", "/healthz", "/readyz", "/metrics"} {
		g.Do(t, "GET", g.Helpers+path, "", "").Want(200)
		g.Do(t, "GET", g.Helpers+path, "", "", resttest.Header("Sec-Fetch-Site", "none")).Want(200)
		g.Do(t, "GET", g.Helpers+path, "", "", resttest.Header("Origin", own)).Want(200)
	}
}

// A client that takes nothing of its answer is let go: what it holds is freed, over both protocols.
func TestClientsThatDoNotReadAreLetGo(t *testing.T) {
	g := loadEdited(t, "", func(caddyfile string) string {
		if strings.Count(caddyfile, "write_idle 10s") != 3 { // for each address
			t.Fatal("a server of the Caddyfile waits for ever for clients that do not read")
		}
		return strings.NewReplacer("write_idle 10s", "write_idle 1s", "\thandle /console/* {", "\thandle /large {\n\t\ttest_handler\n\t}\n\thandle /console/* {").Replace(caddyfile)
	})
	ended := make(chan error, 1)
	handle(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for piece := make([]byte, 1<<20); err == nil; { // more than all buffers on the way
			_, err = w.Write(piece)
		}
		ended <- err
	})
	conn := sendBytes(t, g, "GET /large HTTP/1.1\r\nHost: gw\r\n\r\n")
	t.Logf("HTTP/1.1: %v", <-ended)
	_ = conn.Close()
	client := (&site{}).client(t, 2, "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/large", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	t.Logf("%s: %v", res.Proto, <-ended)
}
