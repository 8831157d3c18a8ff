// Package page is what a browser is shown that a link or an external service has sent here.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
)

//go:embed page.html
var source string

const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:20vh auto;padding:0 1em}"

var (
	text = template.Must(template.New("page").Parse(source))
	// policy lets the page do nothing but show itself, in no frame.
	policy = func() string {
		sum := sha256.Sum256([]byte(style))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	}()
)

// Reply is a page with a title and a sentence. It takes nothing from elsewhere, and its address goes nowhere.
func Reply(status int, title, sentence string) rest.Reply {
	var b bytes.Buffer
	_ = text.Execute(&b, map[string]any{"Title": title, "Sentence": sentence, "Style": template.CSS(style)}) //nolint:gosec // a constant of ours; to memory, of a tried template
	return rest.Reply{Status: status, Body: b.Bytes(), Header: http.Header{
		"Content-Security-Policy": {policy},
		"Referrer-Policy":         {"no-referrer"}, // the address holds a token or a code
	}}
}

// Wanted tells whether whoever asks reads pages: browsers say so when a link is opened, and programs do not.
func Wanted(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}
