// Package page renders the pages for a browser that follows a link or comes back from an external service.
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

const style = ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:12vh auto;padding:0 1em;overflow-wrap:anywhere}" +
	"h1{font-size:1.5em;line-height:1.25}button{font:inherit;padding:.4em 1em;max-width:100%;overflow-wrap:anywhere}"

var (
	text = template.Must(template.New("page").Parse(source))
	// policy lets the page do nothing but show itself, and in no frame. The caller appends where the form may be sent.
	policy = func() string {
		sum := sha256.Sum256([]byte(style))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; frame-ancestors 'none'; form-action "
	}()
)

// content is the data of the template: a sentence or a question.
type content struct {
	Title, Sentence string
	Question        *Question
	Style           template.CSS
}

// Reply returns a page with a title and a sentence. It loads nothing from elsewhere, and its address is not passed on.
func Reply(status int, title, sentence string) rest.Reply {
	return reply(status, content{Title: title, Sentence: sentence}, "'none'", "no-referrer") // the address holds a token or a code
}

// Question asks a person whether their account at an external service is to be linked to a user. Anybody may have chosen the
// names.
type Question struct {
	Service, User, Tenant string
	// Token is sent back with the form, to the page's own address.
	Token string
	// Destination is the origin to which the response to the form redirects.
	Destination string
}

// Ask returns a page with a question. Browsers apply the form's policy to the redirect after the form, and to the external
// service's further redirects, which often lead to another of its servers. So the policy allows https, and no address is written
// into the page for it.
func Ask(q Question) rest.Reply {
	allowed := "'self' https:"
	if strings.HasPrefix(q.Destination, "http://") {
		allowed += " " + q.Destination
	}
	// With no-referrer a browser would send its own form with the Origin "null".
	out := reply(http.StatusOK, content{Title: "Connect your account?", Question: &q}, allowed, "same-origin")
	out.Header.Set("X-Frame-Options", "DENY")
	return out
}

func reply(status int, c content, form, referrer string) rest.Reply {
	c.Style = template.CSS(style) //nolint:gosec // our own constant
	var b bytes.Buffer
	_ = text.Execute(&b, c) // cannot fail: it writes to memory, and the template was tried
	return rest.Reply{Status: status, Body: b.Bytes(), Header: http.Header{
		"Content-Security-Policy": {policy + form},
		"Referrer-Policy":         {referrer},
	}}
}

// Wanted reports whether the client reads pages: browsers say so when they open a link, and programs do not.
func Wanted(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}
