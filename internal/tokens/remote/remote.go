package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
	"github.com/ringfence/ringfence/internal/webaddress"
)

const (
	defaultStaleness = 10 * time.Second
	defaultTimeout   = 3 * time.Second
	maxConns         = 32
	maxBody          = 1 << 20

	minToken = 20
	maxToken = 200
)

// Config says where the auth server is and how far it is trusted.
type Config struct {
	// URL is the server's address without the version: "https://host/api/auth",
	// "http://127.0.0.1:9497". Required.
	URL string
	// Timeout bounds one request, 3 s by default.
	Timeout time.Duration
	// Staleness is how long a response is trusted, 10 s by default and tokens.MaxStaleness at most: the bound on how late a
	// revocation takes effect.
	Staleness time.Duration
	// CAFile holds the PEM certificates that the server's certificate is checked against, by default those of the system. A
	// certificate is always checked.
	CAFile string
	// PlainHTTP allows http:// to another machine. Everybody on the network can then read the tokens.
	PlainHTTP bool
	// MasterTenant is the UUID, in lower case, of the server's own master tenant: who acts in it has the rights of the master tenant
	// here. The server's answers do not tell which one it is. Empty: nobody of that server has them.
	MasterTenant string
	// Now is the clock, time.Now by default.
	Now func() time.Time
	// Logger reports accesses that this gateway does not understand; slog.Default by default.
	Logger *slog.Logger
}

// Source asks the auth server. It implements tokens.Bounded and tokens.Tenanted.
type Source struct {
	base   *url.URL
	config Config
	// transport is used directly: a client would follow redirects, and send the token, which is in the path, elsewhere.
	transport *http.Transport
	acls      tokens.ACLs
	// checksTenants is set once the server has refused a tenant that does not exist.
	checksTenants atomic.Bool

	mu     sync.Mutex
	logged map[string]bool
}

var (
	_ tokens.Bounded  = (*Source)(nil)
	_ tokens.Tenanted = (*Source)(nil)
)

// New checks the configuration, without contacting the server.
func New(config Config) (*Source, error) {
	base, err := parseURL(config.URL, config.PlainHTTP)
	if err != nil {
		return nil, err
	}
	switch {
	case config.Staleness < 0 || config.Staleness > tokens.MaxStaleness:
		return nil, fmt.Errorf("remote auth server: staleness must be from 0 to %s", tokens.MaxStaleness)
	case config.Timeout < 0:
		return nil, errors.New("remote auth server: timeout cannot be negative")
	}
	if id, err := uuid.Parse(config.MasterTenant); config.MasterTenant != "" && (err != nil || id.String() != config.MasterTenant || id == uuid.Nil) {
		return nil, fmt.Errorf("remote auth server: master_tenant is %q; it must be a UUID in lower case", config.MasterTenant)
	}
	config.Staleness = cmp.Or(config.Staleness, defaultStaleness)
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	if config.Now == nil {
		config.Now = time.Now
	}
	config.Logger = cmp.Or(config.Logger, slog.Default())
	roots, err := webaddress.Roots(config.CAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the auth server's CA certificates: %w", err)
	}
	return &Source{
		base:   base,
		config: config,
		logged: make(map[string]bool),
		transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:   true,
			MaxConnsPerHost:     maxConns,
			MaxIdleConnsPerHost: maxConns,
			IdleConnTimeout:     time.Minute,
		},
	}, nil
}

func parseURL(text string, plain bool) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("remote auth server: the URL must be https://host[:port][/path]")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("remote auth server: the URL cannot hold credentials, a query or a fragment")
	case webaddress.Private(u), u.Scheme == "http" && plain:
		return u, nil
	case u.Scheme == "http":
		return nil, errors.New("remote auth server: http:// is for this machine only, unless plain_http is given")
	}
	return nil, fmt.Errorf("remote auth server: the URL's scheme %q is not https", u.Scheme)
}

// Close closes the idle connections.
func (s *Source) Close() { s.transport.CloseIdleConnections() }

// Staleness returns how long a response is trusted.
func (s *Source) Staleness() time.Duration { return s.config.Staleness }

// Shape allows 20 to 200 characters of base64url: UUIDs and our own tokens are of this form.
func (s *Source) Shape(token string) bool {
	return len(token) >= minToken && len(token) <= maxToken && tokens.InAlphabet(token)
}

// Load asks the server. See tokens.Source, and the package comment for which responses are believed.
func (s *Source) Load(ctx context.Context, token string, d tokens.Digest) (*principal.Principal, error) {
	if !s.Shape(token) {
		return nil, tokens.ErrUnknown
	}
	asked := s.config.Now()
	answer, err := s.ask(ctx, token, nil)
	switch {
	case err != nil:
		return nil, err
	case answer.status != http.StatusOK:
		return nil, unavailable("it answered %d", answer.status)
	}
	r, err := parseRecord(answer.body)
	if err != nil {
		return nil, unavailable("reading its record: %w", err)
	}
	return &principal.Principal{
		TokenID:     tokens.ID(d),
		UserUUID:    r.user,
		SessionUUID: r.session,
		Affiliation: &principal.Affiliation{
			TenantUUID: r.tenant, Purpose: r.purpose, Remote: true, Master: s.config.MasterTenant != "" && r.tenant == s.config.MasterTenant,
		},
		ACL:       s.compile(r.acl),
		ExpiresAt: principal.At(expiry(r.expires, answer.date, asked)),
	}, nil
}

// Within asks the server whether a tenant is the token's own or below it. See tokens.Tenanted. A server that says so of a tenant
// that was made up does not check tenants at all, and is not believed.
func (s *Source) Within(ctx context.Context, token, tenant string) (bool, error) {
	if !s.Shape(token) {
		return false, tokens.ErrUnknown
	}
	within, err := s.within(ctx, token, tenant)
	if err != nil || !within || s.checksTenants.Load() {
		return within, err
	}
	anywhere, err := s.within(ctx, token, uuid.NewString())
	switch {
	case err != nil:
		return false, err
	case anywhere:
		return false, unavailable("it lets a token into a tenant that does not exist")
	}
	s.checksTenants.Store(true)
	return true, nil
}

func (s *Source) within(ctx context.Context, token, tenant string) (bool, error) {
	answer, err := s.ask(ctx, token, url.Values{"tenant": {tenant}})
	switch {
	case err != nil:
		return false, err
	case answer.status == http.StatusForbidden && isRefusal(answer.status, answer.body):
		return false, nil
	case answer.status != http.StatusOK:
		return false, unavailable("asked about a tenant, it answered %d", answer.status)
	}
	if _, err := parseRecord(answer.body); err != nil {
		return false, unavailable("reading its record: %w", err)
	}
	return true, nil
}

// answer holds the parts of a response that matter.
type answer struct {
	status int
	date   string
	body   []byte // one byte over maxBody if it is longer
}

// ask asks about a token. If the server does not know it, the error is tokens.ErrUnknown.
func (s *Source) ask(ctx context.Context, token string, query url.Values) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	a, err := s.get(ctx, token, query)
	switch {
	case err != nil:
		return a, unavailable("asking: %w", withoutToken(err, token))
	case len(a.body) > maxBody:
		return a, unavailable("its answer is longer than %d bytes", maxBody)
	case a.status == http.StatusNotFound && isRefusal(a.status, a.body):
		return a, tokens.ErrUnknown
	}
	return a, nil
}

func (s *Source) get(ctx context.Context, token string, query url.Values) (answer, error) {
	target := s.base.JoinPath("0.1", "token", url.PathEscape(token))
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	return answer{status: response.StatusCode, date: response.Header.Get("Date"), body: body}, err
}

func unavailable(format string, args ...any) error {
	return fmt.Errorf("remote auth server: %w: %w", store.ErrUnavailable, fmt.Errorf(format, args...))
}

// withoutToken drops an error whose text repeats the token. Errors of net/http may quote the address, which contains the token,
// or the server's response.
func withoutToken(err error, token string) error {
	if strings.Contains(err.Error(), token) {
		return errors.New("the exchange failed")
	}
	return err
}

// noExpiry is the life of a token whose expiry the server does not say. The token is looked up again after the staleness.
const noExpiry = 100 * 365 * 24 * time.Hour

// expiry returns when the token expires by this machine's clock: the time left is counted from when the request was sent,
// against the time at which the server responded. The server's time is in whole seconds, so a second may have passed.
func expiry(expires time.Time, date string, asked time.Time) time.Time {
	if expires.IsZero() {
		return asked.Add(noExpiry)
	}
	answered, err := http.ParseTime(date)
	if err != nil {
		return expires
	}
	return asked.Add(expires.Sub(answered) - time.Second)
}

// maxLogged is how many patterns that are not understood are logged, each once.
const maxLogged = 100

type record struct {
	user, session, tenant, purpose string
	expires                        time.Time // zero: the record does not say
	acl                            []string
}

// parseRecord reads `{"data": {...}}`. It refuses any text that could not be an identity: these texts become words of accesses
// and header values.
func parseRecord(body []byte) (record, error) {
	var answer struct {
		Data *struct {
			AuthID    string    `json:"auth_id"`
			Session   string    `json:"session_uuid"`
			ExpiresAt *string   `json:"utc_expires_at"`
			ACL       *[]string `json:"acl"`
			Metadata  struct {
				Tenant  string `json:"tenant_uuid"`
				Purpose string `json:"purpose"`
			} `json:"metadata"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return record{}, errors.New("it is not the JSON that was expected") // the cause may quote the body
	}
	data := answer.Data
	switch {
	case data == nil:
		return record{}, errors.New("it has no data")
	case data.AuthID == "" || !isIdentity(data.AuthID):
		return record{}, errors.New("its auth_id is not an identity")
	case !isIdentity(data.Session):
		return record{}, errors.New("its session_uuid is not an identity")
	case !isIdentity(data.Metadata.Tenant):
		return record{}, errors.New("its tenant_uuid is not an identity")
	case !isIdentity(data.Metadata.Purpose):
		return record{}, errors.New("its purpose is not a word")
	case data.ACL == nil:
		return record{}, errors.New("it has no acl")
	}
	var expires time.Time
	if data.ExpiresAt != nil {
		var err error
		if expires, err = parseTime(*data.ExpiresAt); err != nil {
			return record{}, err
		}
	}
	tenant := data.Metadata.Tenant
	if id, err := uuid.Parse(tenant); err == nil && len(tenant) == len(id.String()) {
		tenant = id.String() // in lower case, as everywhere here
	}
	return record{
		user: data.AuthID, session: data.Session, tenant: tenant, purpose: data.Metadata.Purpose,
		expires: expires, acl: *data.ACL,
	}, nil
}

// isIdentity allows UUIDs and names such as "wazo-auth", and nothing else.
func isIdentity(s string) bool { return len(s) <= 128 && tokens.InAlphabet(s) }

// parseTime reads a time in UTC that is written without a zone, with or without a fraction of a second.
func parseTime(text string) (time.Time, error) {
	t, err := time.Parse("2006-01-02T15:04:05", text) // a fraction is accepted although the layout has none
	if err != nil {
		return time.Time{}, errors.New("its utc_expires_at is not a time")
	}
	return t, nil
}

// isRefusal reports whether a refusal is the server's own, such as "no such token", and not some other server's, such as "no such
// page". The server's own has the status in its body, or the name of an error.
func isRefusal(status int, body []byte) bool {
	var answer struct {
		Status  int    `json:"status_code"`
		ErrorID string `json:"error_id"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return false
	}
	return answer.Status == status || answer.ErrorID != "" && answer.Message != ""
}

// compile makes a set of the record's accesses. That server's language has patterns that ours refuses, such as "us*". A granting
// pattern that is not understood is left out, so it grants nothing; if a denying pattern is not understood, everything is
// denied.
func (s *Source) compile(patterns []string) *acl.Set {
	if set, err := s.acls.Compile(patterns); err == nil {
		return set
	}
	understood := make([]string, 0, len(patterns))
	for _, p := range patterns {
		err := acl.ParsePattern(p)
		switch {
		case err == nil:
			understood = append(understood, p)
		case len(p) > 0 && p[0] == '!':
			s.log(p, "an access that denies is not understood: tokens that carry it are denied everything", err)
			return nil
		default:
			s.log(p, "an access that grants is not understood: it grants nothing", err)
		}
	}
	set, err := s.acls.Compile(understood)
	if err != nil {
		s.log("", "a token's accesses are not understood: it is denied everything", err)
		return nil
	}
	return set
}

// log logs a message about a pattern once.
func (s *Source) log(pattern, message string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.logged[pattern] && len(s.logged) < maxLogged {
		s.logged[pattern] = true
		s.config.Logger.Warn(message, "access", fmt.Sprintf("%.80q", pattern), "error", err)
	}
}
