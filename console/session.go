package console

import (
	"encoding/json"
	"net/http"
	"regexp"
)

// A reload of the console keeps its session. The page cuts the token into two halves, of which each alone is random bytes: one is in
// the tab's storage, which only this origin's scripts can read; the other is in a cookie, which no script can read. The gate knows
// nothing of cookies, so no request has rights through it, whoever makes a browser send one. docs/security.md, Session of the console,
// says what this is worth.
const (
	sessionPath   = "/session"
	sessionCookie = "ringfence_console"
)

// half is what the cookie may hold: an id and bytes, in base 64.
var half = regexp.MustCompile(`^[A-Za-z0-9+/=]{1,32}\.[A-Za-z0-9+/=]{1,512}$`)

type sessionHalf struct {
	Half string `json:"half"`
}

// serveSession keeps, returns and forgets the page's half. It refuses requests of other sites, and those that a form or a link makes.
func serveSession(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if site := r.Header.Get("Sec-Fetch-Site"); site != "same-origin" || r.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	// The path keeps it from every other request, also from those to daemons behind the gate.
	cookie := &http.Cookie{Name: sessionCookie, Path: "/console/session", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	switch r.Method {
	case http.MethodGet:
		var answer sessionHalf
		if kept, err := r.Cookie(sessionCookie); err == nil && half.MatchString(kept.Value) {
			answer.Half = kept.Value
		}
		h.Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	case http.MethodPut:
		var asked sessionHalf
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1024)).Decode(&asked); err != nil || !half.MatchString(asked.Half) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		cookie.Value = asked.Half
		http.SetCookie(w, cookie)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodDelete:
		cookie.MaxAge = -1
		http.SetCookie(w, cookie)
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", "GET, PUT, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}
