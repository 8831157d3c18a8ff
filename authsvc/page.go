package authsvc

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
var pageText string

const pageStyle = "body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:20vh auto;padding:0 1em}"

var (
	page = template.Must(template.New("page").Parse(pageText))
	// pagePolicy lets the page do nothing but show itself, in no frame.
	pagePolicy = func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	}()
)

// browserPage is a page for somebody whom a link or an external service has sent here, with a title and a sentence.
func browserPage(status int, title, sentence string) rest.Reply {
	var b bytes.Buffer
	_ = page.Execute(&b, map[string]any{"Title": title, "Sentence": sentence, "Style": template.CSS(pageStyle)}) //nolint:gosec // a constant of ours; to memory, of a tried template
	return rest.Reply{Status: status, Body: b.Bytes(), Header: http.Header{
		"Content-Security-Policy": {pagePolicy},
		"Referrer-Policy":         {"no-referrer"}, // the address holds a token or a code
	}}
}

// fromBrowser tells whether whoever asks reads pages: browsers say so when a link is opened, and programs do not.
func fromBrowser(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}
