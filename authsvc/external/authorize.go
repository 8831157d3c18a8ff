package external

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/ringfence/ringfence/authsvc/page"
	"github.com/ringfence/ringfence/internal/rest"
)

// callbackTime is the time limit of a callback.
const callbackTime = 30 * time.Second

// authorizeOperation is the page to which an external service sends users back. They have a browser and no token; the state and
// the cookie of the browser in which they agreed let them in (see connect.go).
func (h *Host) authorizeOperation() rest.Operation {
	text := &rest.Schema{Type: "string"}
	return rest.Operation{
		Method: http.MethodGet, Path: "/external/{auth_type}/authorize", Public: true,
		ID: "authorize_external", Summary: "Where an external service sends a user back to",
		Description: "Called by the user's browser, with the cookie that the page before has set. Each state counts once, for ten minutes, and 400 says that it does not.",
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
	return page.Reply(http.StatusBadRequest, "Not linked", rest.Sentence(e)+". Go back to where you began, and begin again."), nil
}
