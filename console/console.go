// Package console is the gateway in a browser: the console for operators, the API explorer, and the page to which a mail leads that
// resets a password. All of them are the same for everybody and hold nothing secret: what a user may do, the gate decides about each
// request that the pages make.
package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"
)

//go:embed assets
var assets embed.FS

// Entry is one service that the console shows.
type Entry struct {
	Name       string `json:"name"`
	Title      string `json:"title"`
	Prefix     string `json:"prefix"`
	Definition string `json:"definition"` // path of its OpenAPI document
	Mails      bool   `json:"mails"`      // it can send mails
	// Unserved are the operations that this installation cannot serve, by their ids, and the values of attributes, as "attribute=value": the
	// console does not offer them.
	Unserved []string `json:"unserved,omitempty"`
	// Document is the definition of a daemon that does not serve its own to everybody; nil: Definition leads to the service's.
	Document []byte `json:"-"`
}

// The policies let a page load nothing and talk to nobody but this origin. Forms are sent by scripts alone: a browser
// that has not loaded them yet must not put a password into an address. Swagger UI writes style attributes, and HTML.
const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src blob:; " +
		"connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
	explorerPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)

// New serves the console below /console/, the API explorer below /console/api/, and the page of a reset at /console/reset.html.
func New(entries []Entry) (http.Handler, error) {
	pages, err := fs.Sub(assets, "assets")
	if err != nil {
		return nil, err
	}
	entries = slices.Clone(entries)
	documents := map[string][]byte{}
	for i := range entries {
		if e := &entries[i]; e.Document != nil {
			path := "/definitions/" + e.Name + ".json"
			e.Definition, documents[path] = "/console"+path, e.Document
		}
	}
	list, err := json.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("listing the services: %w", err)
	}
	own := http.FileServerFS(pages)
	ui := http.StripPrefix("/ui", statigz.FileServer(static.FS))
	return http.StripPrefix("/console", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path == sessionPath {
			serveSession(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if path := strings.Trim(r.URL.Path, "/"); strings.Contains(r.URL.Path, "//") || path != "" && !fs.ValidPath(path) {
			http.NotFound(w, r) // the file server cleans such a path, or fails
			return
		}
		switch {
		case r.URL.Path == "/services.json":
			h.Set("Content-Type", "application/json")
			_, _ = w.Write(list)
		case documents[r.URL.Path] != nil:
			h.Set("Content-Type", "application/json")
			_, _ = w.Write(documents[r.URL.Path])
		case strings.HasPrefix(r.URL.Path, "/ui/"):
			ui.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			h.Set("Content-Security-Policy", explorerPolicy)
			own.ServeHTTP(w, r)
		default:
			own.ServeHTTP(w, r)
		}
	})), nil
}
