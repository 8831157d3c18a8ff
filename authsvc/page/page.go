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

const style = "body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:20vh auto;padding:0 1em;overflow-wrap:anywhere}button{font:inherit;padding:.3em 1em}"

var (
	text = template.Must(template.New("page").Parse(source))
	// policy lets the page do nothing but show itself, in no frame. What follows is where its form may go.
	policy = func() string {
		sum := sha256.Sum256([]byte(style))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; frame-ancestors 'none'; form-action "
	}()
)

// content is what the template shows: a sentence or a question.
type content struct {
	Title, Sentence string
	Question        *Question
	Style           template.CSS
}

// Reply is a page with a title and a sentence. It takes nothing from elsewhere, and its address goes nowhere.
func Reply(status int, title, sentence string) rest.Reply {
	return reply(status, content{Title: title, Sentence: sentence}, "'none'", "no-referrer") // the address holds a token or a code
}

// Question asks a person whether their account at an external service is to be a user's. The names are anybody's to choose.
type Question struct {
	Service, User, Tenant string
	// Token goes back with the form, which is sent to the page's own address.
	Token string
	// Destination is the origin to which the answer to the form redirects.
	Destination string
}

// Ask is a page with a question. Browsers hold the form's policy against where its answer redirects, and against where the external
// service redirects from there, which is another of its servers as often as not: so https is allowed, and no address is written into the
// page for it.
func Ask(q Question) rest.Reply {
	allowed := "'self' https:"
	if strings.HasPrefix(q.Destination, "http://") {
		allowed += " " + q.Destination
	}
	// Under no-referrer a browser would send its own form with the Origin "null".
	out := reply(http.StatusOK, content{Title: "Connect your account?", Question: &q}, allowed, "same-origin")
	out.Header.Set("X-Frame-Options", "DENY")
	return out
}

func reply(status int, c content, form, referrer string) rest.Reply {
	c.Style = template.CSS(style) //nolint:gosec // a constant of ours
	var b bytes.Buffer
	_ = text.Execute(&b, c) // to memory, of a tried template
	return rest.Reply{Status: status, Body: b.Bytes(), Header: http.Header{
		"Content-Security-Policy": {policy + form},
		"Referrer-Policy":         {referrer},
	}}
}

// Wanted tells whether whoever asks reads pages: browsers say so when a link is opened, and programs do not.
func Wanted(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}
