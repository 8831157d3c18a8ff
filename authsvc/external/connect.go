package external

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/ringfence/ringfence/authsvc/page"
	"github.com/ringfence/ringfence/internal/rest"
)

// A page of ours stands between a plugin and its service, so nobody gives away their account by a link that somebody else has
// sent: authorization_url is the page's address instead of the service's.
//
//	POST .../external/{type}      the plugin registers a state; the host keeps the service's address with it
//	GET  .../connect?state=       names the user who will have access, and asks; the cookie is the form's
//	POST .../connect?state=       the person agrees: the cookie is this browser's from now on; on to the service
//	GET  .../authorize?state=     the service sends the browser back: without the cookie nothing is done, and the state stays
//
// Knowing the state allows only to open the page. A person who agrees in several browsers is let back into the last.

// attempts are the states registered while a plugin served one request.
type attempts struct {
	mu    sync.Mutex
	state map[[2]string]string // by type and user
}

type attemptsKey struct{}

func withAttempts(ctx context.Context) (context.Context, *attempts) {
	a := &attempts{state: map[[2]string]string{}}
	return context.WithValue(ctx, attemptsKey{}, a), a
}

// attemptsOf returns nil outside a plugin's request.
func attemptsOf(ctx context.Context) *attempts {
	a, _ := ctx.Value(attemptsKey{}).(*attempts)
	return a
}

func (a *attempts) add(authType, user, state string) {
	if a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.state[[2]string{authType, user}] = state
	}
}

func (a *attempts) of(l *Link) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state[[2]string{l.Type, l.UserUUID}]
}

// throughPage stores the authorization_url of a plugin's reply with the state, and returns our page's address instead. The state
// is the one that was registered meanwhile, or the one in the address.
func (h *Host) throughPage(ctx context.Context, l *Link, begun *attempts, answer any) (any, error) {
	text, err := rest.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	var service string
	if json.Unmarshal(text, &fields) != nil || json.Unmarshal(fields["authorization_url"], &service) != nil || service == "" {
		return answer, nil
	}
	u, err := url.Parse(service)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("the plugin %s answered an authorization_url that is no web address", l.Type)
	}
	state := begun.of(l)
	if state == "" {
		state = u.Query().Get("state")
	}
	by, err := h.rights.Vouchers(ctx, h.db, l.request.Principal(), l.UserUUID)
	if err != nil {
		return nil, err
	}
	p := pending{UserUUID: l.UserUUID, digest: sha256.Sum256([]byte(state))}
	blob, err := h.seal([]byte(service), p.row(destinationRow, l.Type))
	if err != nil {
		return nil, err
	}
	n, err := h.db.Exec(ctx, `UPDATE auth_external_pending SET destination = $4, begun_by = $5 WHERE digest = $1 AND user_uuid = $2 AND auth_type = $3`,
		p.digest[:], l.UserUUID, l.Type, blob, strings.Join(by, " "))
	if err != nil {
		return nil, fmt.Errorf("keeping the address of an authorization: %w", err)
	}
	if n == 0 {
		return answer, nil // nothing was registered, so nothing comes back here
	}
	ours, err := h.address(l.Type, "connect")
	if err != nil {
		return nil, err
	}
	fields["authorization_url"], err = rest.Marshal(ours + "?" + url.Values{"state": {state}}.Encode())
	return fields, err
}

type connectForm struct {
	Token string `json:"token" required:"true" maxLength:"64" doc:"That of the page's form."`
}

// maxForm is the largest body of the form, in bytes.
const maxForm = 4 << 10

func (h *Host) connectOperations() []rest.Operation {
	ask := rest.Operation{
		Method: http.MethodGet, Path: "/external/{auth_type}/connect", Public: true,
		ID: "ask_external", Summary: "Ask a person whether their account is to be a user's",
		Description: "The authorization_url of a link that was begun: opened in the person's browser, it names the user, and leads on to the external service.",
		Query:       []rest.Parameter{{Name: "state", Description: "The state of the link.", Required: true, Schema: &rest.Schema{Type: "string"}}},
		Success:     http.StatusOK, Produces: "text/html; charset=utf-8", Statuses: []int{http.StatusBadRequest}, Handle: h.ask,
	}
	agree := ask
	agree.Method, agree.ID, agree.Summary = http.MethodPost, "connect_external", "Take the person's word, and lead on to the external service"
	agree.Description = "Sent by the page's form, with the page's cookie. Sets the cookie without which the external service sends nobody back."
	agree.Body, agree.Consumes, agree.MaxBody = rest.SchemaOf[connectForm](), "application/x-www-form-urlencoded", maxForm
	agree.Success, agree.Located, agree.Handle = http.StatusSeeOther, true, h.agree
	return []rest.Operation{ask, agree}
}

// ask shows the page. Its cookie only proves that the form was shown in this browser.
func (h *Host) ask(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	authType := r.Param("auth_type")
	state, _ := r.Query("state")
	p, service, err := h.authorization(ctx, authType, state)
	if err != nil {
		return refusedPage(err)
	}
	name := cookieName(state)
	cookie := cookieOf(r.HTTP, name)
	if cookie == "" {
		cookie = newCookie()
	}
	return with(setCookie(name, cookie, int(pendingTime.Seconds())), page.Ask(page.Question{
		Service: titled(authType), User: p.name(), Tenant: p.Tenant,
		Token: formToken(cookie, state), Destination: service.Scheme + "://" + service.Host,
	})), nil
}

// titled returns a kind of account as people read it.
func titled(authType string) string { return strings.ToUpper(authType[:1]) + authType[1:] }

var errNotAsked = Refuse(http.StatusBadRequest, nil, "This form was not shown in this browser, or its cookie was not kept")

// agree binds the state to this browser, by a new cookie: anybody who opened the page got the old one.
func (h *Host) agree(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	authType := r.Param("auth_type")
	state, _ := r.Query("state")
	text, err := io.ReadAll(r.HTTP.Body)
	if err != nil {
		return rest.Reply{}, Refuse(http.StatusBadRequest, err, "The body ended before all of it had come, or is too large")
	}
	form, err := url.ParseQuery(string(text))
	name := cookieName(state)
	cookie := cookieOf(r.HTTP, name)
	if err != nil || cookie == "" || len(form["token"]) != 1 ||
		subtle.ConstantTimeCompare([]byte(form.Get("token")), []byte(formToken(cookie, state))) != 1 {
		return refusedPage(errNotAsked)
	}
	p, service, err := h.authorization(ctx, authType, state)
	if err != nil {
		return refusedPage(err)
	}
	cookie = newCookie()
	browser := sha256.Sum256([]byte(cookie))
	n, err := h.db.Exec(ctx, `UPDATE auth_external_pending SET browser = $2 WHERE digest = $1`, p.digest[:], browser[:])
	if err == nil && n == 0 {
		err = errUnknownState
	}
	if err != nil {
		return refusedPage(err)
	}
	return with(setCookie(name, cookie, int(pendingTime.Seconds())), rest.Reply{Header: http.Header{
		"Location": {service.String()}, "Referrer-Policy": {"no-referrer"},
	}}), nil
}

// authorization returns a pending authorization, and the address to which it leads.
func (h *Host) authorization(ctx context.Context, authType, state string) (pending, *url.URL, error) {
	p, err := h.find(ctx, h.db, authType, state)
	if err != nil {
		return p, nil, err
	}
	service, err := h.destination(&p, authType)
	return p, service, err
}

// destination returns the external service's address.
func (h *Host) destination(p *pending, authType string) (*url.URL, error) {
	text, err := h.unseal(p.Destination, p.row(destinationRow, authType))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(string(text))
	if err != nil {
		return nil, errors.New("the address that is kept of an authorization is none") // the cause may repeat the state
	}
	return u, nil
}

// agreed reports whether the cookie belongs to the browser in which the person agreed.
func (p *pending) agreed(cookie string) bool {
	browser := sha256.Sum256([]byte(cookie))
	return cookie != "" && subtle.ConstantTimeCompare(p.Browser, browser[:]) == 1
}

// cookieName returns a different name for each state, so several links can be open in one browser. With the prefix, a browser
// accepts the cookie only from this host, over TLS (RFC 6265bis, 4.1.3.2).
func cookieName(state string) string {
	digest := sha256.Sum256([]byte("cookie of " + state))
	return "__Host-ringfence-connect-" + hex.EncodeToString(digest[:8])
}

// newCookie returns 256 random bits.
func newCookie() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// formToken returns the token of the form that is shown with a cookie. No other site can read or set that cookie.
func formToken(cookie, state string) string {
	digest := sha256.Sum256([]byte("form of " + cookie + " " + state))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// cookieOf returns "" if there is no such cookie, or several of the name.
func cookieOf(r *http.Request, name string) string {
	found := r.CookiesNamed(name)
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// setCookie returns a cookie that scripts cannot read, and that browsers send when the external service sends them back.
func setCookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// with adds a cookie to a reply.
func with(c *http.Cookie, reply rest.Reply) rest.Reply {
	reply.Header.Add("Set-Cookie", c.String())
	return reply
}
