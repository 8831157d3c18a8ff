package external

import (
	"cmp"
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
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ringfence/ringfence/authsvc/page"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// The limits of a pending authorization. The state is the external service's proof that the user whom it sends back is the one
// who was sent to it: it is random, of one use, and at most ten minutes old.
const (
	pendingTime = 10 * time.Minute
	// maxPending is how many a user may have open with one service; the oldest are removed.
	maxPending = 10
	// minState and maxState bound a state, in bytes: 128 bits in base64 have 22.
	minState = 22
	maxState = 512
)

// RegisterOAuth2Callback registers a callback for when the user has authorized the service on the external side: when the
// external service sends a browser to [Host.BuildOAuth2RedirectURL] with this state, within ten minutes. A state can be used
// once. It must be random, with 128 bits or more, since anybody who knows it can finish the link; state is the one in the
// authorization URL.
//
// The callback is called outside the request's goroutine, with the extra arguments and, last, the message. It lives in this
// process: after a restart, or if the message comes to another node, the plugin's own [Authorizer] takes the message. If the
// plugin has none, the user is told to begin again.
//
// With a nil callback the plugin's Authorizer always takes the message, on any node and after any restart. The extra arguments
// are then stored in the database, encrypted, as JSON.
//
// The state is bound to the user and the type, and to the browser in which a person has agreed on our page. The
// plugin's reply to the request that registers has the service's address as authorization_url, with the state in its query.
func (h *Host) RegisterOAuth2Callback(ctx context.Context, authType, userUUID, state string, callback Callback, extra ...any) error {
	if len(state) < minState || len(state) > maxState {
		return fmt.Errorf("a state must have between %d and %d bytes", minState, maxState)
	}
	if _, ok := h.plugin(authType).(Authorizer); callback == nil && !ok {
		return fmt.Errorf("the plugin %q takes no messages of its own, and no callback was given", authType)
	}
	kept := []any{}
	if callback == nil {
		kept = append(kept, extra...)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("keeping a callback's arguments: %w", err)
	}
	digest := sha256.Sum256([]byte(state))
	blob, err := h.seal(text, pendingRow(hex.EncodeToString(digest[:]), userUUID, authType))
	if err != nil {
		return err
	}
	var expires time.Time
	if err := h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) error {
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		expires = now.Add(pendingTime)
		if _, err := tx.Exec(ctx, `DELETE FROM auth_external_pending WHERE expires_at <= $1`, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			DELETE FROM auth_external_pending WHERE digest IN (
				SELECT digest FROM auth_external_pending WHERE user_uuid = $1 AND auth_type = $2
				ORDER BY expires_at DESC, digest LIMIT 1000000 OFFSET $3)`, userUUID, authType, maxPending-1); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO auth_external_pending (digest, user_uuid, auth_type, sealed, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			digest[:], userUUID, authType, blob, expires)
		return err
	}); err != nil {
		switch {
		case store.IsConstraint(err, store.ForeignKey):
			return errUnknownUser(userUUID, err)
		case store.IsConstraint(err, store.Unique):
			return errors.New("the state was registered before; draw another")
		}
		return fmt.Errorf("keeping the state of an authorization: %w", err)
	}
	if callback != nil {
		h.keepClosure(digest, &closure{callback, extra, time.Now().Add(pendingTime)})
	}
	return nil
}

// pending is an authorization requested from the external service, of an enabled user.
type pending struct {
	UserUUID    string `db:"user_uuid"`
	TenantUUID  string `db:"tenant_uuid"`
	Username    string `db:"username"`
	Tenant      string `db:"tenant"`
	Sealed      []byte `db:"sealed"`
	Destination []byte `db:"destination"`
	Browser     []byte `db:"browser"`
	Vouchers    string `db:"begun_by"` // separated by spaces

	digest [sha256.Size]byte
	extra  []json.RawMessage
}

// name returns the user's name for a person to read.
func (p *pending) name() string { return cmp.Or(p.Username, p.UserUUID) }

// row returns the context that seals the pending row's values.
func (p *pending) row(name func(digest, user, authType string) string, authType string) string {
	return name(hex.EncodeToString(p.digest[:]), p.UserUUID, authType)
}

// errUnknownState is the one refusal of a state that is unknown, used, expired, another type's, or another browser's.
var errUnknownState = Refuse(http.StatusBadRequest, nil,
	"This authorization is not known in this browser: it was used already, or begun more than ten minutes ago or elsewhere")

// errLostCallback says that nothing here can take the message. The state is not used up.
var errLostCallback = Refuse(http.StatusBadRequest, nil, "This authorization was begun on another node, or before a restart")

// find returns the authorization of a state that has not been taken.
func (h *Host) find(ctx context.Context, c store.Conn, authType, state string) (pending, error) {
	if len(state) < minState || len(state) > maxState {
		return pending{}, errUnknownState
	}
	return h.findDigest(ctx, c, authType, sha256.Sum256([]byte(state)), false)
}

// findDigest returns the authorization of a state, which has been taken or not: then its row has no destination any longer. All who
// vouch for it must still be allowed to begin it.
func (h *Host) findDigest(ctx context.Context, c store.Conn, authType string, digest [sha256.Size]byte, taken bool) (pending, error) {
	destination := `IS NOT NULL`
	if taken {
		destination = `IS NULL`
	}
	p, err := store.Get[pending](ctx, c, `
		SELECT p.user_uuid, u.tenant_uuid, coalesce(u.username, '') AS username, coalesce(t.name, t.slug) AS tenant,
		       p.sealed, p.destination, p.browser, coalesce(p.begun_by, '') AS begun_by
		FROM auth_external_pending p JOIN auth_user u ON u.uuid = p.user_uuid JOIN auth_tenant t ON t.uuid = u.tenant_uuid
		WHERE p.digest = $1 AND p.auth_type = $2 AND p.expires_at > now_utc() AND u.enabled AND p.destination `+destination, digest[:], authType)
	if errors.Is(err, store.ErrNotFound) {
		return p, errUnknownState
	}
	if err != nil {
		return p, err
	}
	p.digest = digest
	for voucher := range strings.FieldsSeq(p.Vouchers) {
		may, err := h.rights.StillMayActOn(ctx, c, voucher, p.UserUUID)
		if err != nil {
			return p, err
		}
		if !may {
			slog.WarnContext(ctx, "an external link is refused: who began it may not act on the user any longer; begin it again", "type", authType,
				"user_uuid", p.UserUUID, "begun_by", voucher)
			return p, errUnknownState
		}
	}
	return p, nil
}

// take uses a state up, on whichever node the message comes to, for the browser in which the person has agreed. Callers need no
// token, so it reads before it writes. The row stays until the callback has ended (see forget): whoever removes the link meanwhile
// removes the row too, and then the callback stores nothing.
func (h *Host) take(ctx context.Context, authType, state, cookie string) (p pending, run *closure, err error) {
	if p, err = h.find(ctx, h.db, authType, state); err != nil {
		return p, nil, err
	}
	if !p.agreed(cookie) {
		return p, nil, errUnknownState
	}
	_, authorizer := h.plugin(authType).(Authorizer)
	if _, kept := h.closures.Load(p.digest); !authorizer && !kept {
		return p, nil, errLostCallback
	}
	if err := h.db.InTx(ctx, func(ctx context.Context, tx store.Conn) (err error) {
		if p, err = h.find(ctx, tx, authType, state); err != nil {
			return err
		}
		if !p.agreed(cookie) {
			return errUnknownState
		}
		now, err := store.Get[time.Time](ctx, tx, `SELECT now_utc()`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE auth_external_pending SET destination = NULL, expires_at = $2 WHERE digest = $1`, p.digest[:], now.Add(pendingTime))
		return err
	}); err != nil {
		return p, nil, err
	}
	kept, _ := h.closures.LoadAndDelete(p.digest)
	run, _ = kept.(*closure)
	text, err := h.unseal(p.Sealed, p.row(pendingRow, authType))
	if err != nil {
		return p, nil, err
	}
	return p, run, decodeStored(text, &p.extra)
}

// forget removes the row of a state that has been taken. If it fails, the row expires.
func (h *Host) forget(ctx context.Context, p pending) {
	if _, err := h.db.Exec(ctx, `DELETE FROM auth_external_pending WHERE digest = $1`, p.digest[:]); err != nil {
		slog.WarnContext(ctx, "a used authorization was not removed; it expires by itself", "error", err)
	}
}

// closure is a callback registered in this process.
type closure struct {
	callback Callback
	extra    []any
	expires  time.Time
}

// keepClosure keeps a callback for the state of a digest. It drops those that have expired.
func (h *Host) keepClosure(digest [sha256.Size]byte, added *closure) {
	h.closures.Range(func(d, old any) bool {
		if time.Now().After(old.(*closure).expires) {
			h.closures.Delete(d)
		}
		return true
	})
	h.closures.Store(digest, added)
}

// A page of ours stands between a plugin and its service, so nobody gives away their account by a link that somebody else has
// sent: authorization_url is the page's address instead of the service's.
//
//	POST .../external/{type}      the plugin registers a state; the host keeps the service's address with it
//	GET  .../connect?state=       names the user who will have access, and asks; the cookie is the form's
//	POST .../connect?state=       the person agrees: the cookie is this browser's from now on; on to the service
//	GET  .../authorize?state=     the service sends the browser back: without the cookie nothing is done, and the state stays
//
// Knowing the state allows only to open the page. A person who agrees in several browsers is let back into the last.

// throughPage stores the authorization_url of a plugin's reply with the state in its query, and returns our page's address instead.
func (h *Host) throughPage(ctx context.Context, l *Link, answer any) (any, error) {
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
	state := u.Query().Get("state")
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

func (h *Host) authorization(ctx context.Context, authType, state string) (pending, *url.URL, error) {
	p, err := h.find(ctx, h.db, authType, state)
	if err != nil {
		return p, nil, err
	}
	service, err := h.destination(&p, authType)
	return p, service, err
}

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

// newCookie returns more than 256 random bits.
func newCookie() string { return rand.Text() + rand.Text() }

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

func with(c *http.Cookie, reply rest.Reply) rest.Reply {
	reply.Header.Add("Set-Cookie", c.String())
	return reply
}

const callbackTime = 30 * time.Second

// authorizeOperation is the page to which an external service sends users back. They have a browser and no token; the state and
// the cookie of the browser in which they agreed let them in.
func (h *Host) authorizeOperation() rest.Operation {
	text := &rest.Schema{Type: "string"}
	return rest.Operation{
		Method: http.MethodGet, Path: "/external/{auth_type}/authorize", Public: true,
		ID: "authorize_external", Summary: "Where an external service sends a user back to",
		Description: "Called by the user's browser, with the cookie that the page before has set. Each state counts once, for ten minutes; otherwise 400.",
		Query: []rest.Parameter{
			{Name: "state", Description: "The state of the authorization URL.", Schema: text},
			{Name: "code", Description: "What the service gives for tokens.", Schema: text},
			{Name: "error", Description: "Why the service gives nothing.", Schema: text},
		},
		Success: http.StatusOK, Produces: "text/html; charset=utf-8", Statuses: []int{http.StatusBadRequest},
		Handle: h.authorize,
	}
}

func (h *Host) authorize(ctx context.Context, r *rest.Request) (rest.Reply, error) {
	if r.HTTP.Method == http.MethodHead { // a client that only looks must not use the state up
		return page.Reply(http.StatusOK, "", ""), nil
	}
	authType := r.Param("auth_type")
	state, _ := r.Query("state")
	name := cookieName(state)
	cookie := cookieOf(r.HTTP, name)
	p, run, err := h.take(ctx, authType, state, cookie)
	if err != nil {
		return refusedPage(err)
	}
	forget := setCookie(name, "", -1)
	message := Message{}
	for name, values := range r.HTTP.URL.Query() {
		message[name] = values[0]
	}
	if reason, refused := message["error"]; refused {
		h.forget(ctx, p)
		slog.Info("an external service did not authorize", "type", authType, "user", p.UserUUID, "reason", errorCode(reason))
		return with(forget, page.Reply(http.StatusBadRequest, "Not linked", "The external service answered: "+errorCode(reason)+".")), nil
	}

	done := make(chan error, 1)
	go func() { //nolint:contextcheck // closing the window does not undo the authorization
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackTime)
		defer cancel()
		err := guarded(authType, func() error {
			return h.deliver(context.WithValue(ctx, takenKey{}, p.digest), r, authType, p, run, message)
		})
		h.forget(ctx, p)
		if err != nil {
			slog.Warn("an external authorization failed", "type", authType, "user", p.UserUUID, "error", err)
		} else {
			slog.Info("an external service was authorized", "type", authType, "user", p.UserUUID)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return refusedPage(refusal(authType, err))
		}
	case <-ctx.Done():
		return rest.Reply{}, ctx.Err()
	}
	return with(forget, page.Reply(http.StatusOK, "Linked", fmt.Sprintf("Your %s account may now be used for the user %s.", titled(authType), p.name()))), nil
}

// deliver gives the message to the closure of this process, or to the plugin.
func (h *Host) deliver(ctx context.Context, r *rest.Request, authType string, p pending, run *closure, message Message) error {
	if run != nil {
		return run.callback(ctx, run.extra, message)
	}
	a, ok := h.plugin(authType).(Authorizer)
	if !ok {
		return errLostCallback // a reload has dropped it; another request with the same state cannot have taken it
	}
	l := &Link{Type: authType, UserUUID: p.UserUUID, TenantUUID: p.TenantUUID, Host: h, request: r, taken: &p.digest}
	return a.Authorized(ctx, l, p.extra, message)
}

// errorCodes are those of RFC 6749, 4.1.2.1, and others of that form.
var errorCodes = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// errorCode returns the part that may be shown of an error that anybody can put into the address.
func errorCode(sent string) string {
	if !errorCodes.MatchString(sent) {
		return "error"
	}
	return sent
}

// refusedPage says why nothing was linked. Errors that no client may read stay errors: they are logged and returned as plain
// ones.
func refusedPage(err error) (rest.Reply, error) {
	e := rest.Refusal(err)
	if e.Status() >= http.StatusInternalServerError {
		return rest.Reply{}, err
	}
	return page.Reply(http.StatusBadRequest, "Not linked", e.Sentence()+". Go back to where you began, and begin again."), nil
}
