package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/acl"
)

// maxLogged is how many patterns that are not understood are logged, each once.
const maxLogged = 100

// record holds the fields of a token record that matter.
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
func isIdentity(s string) bool {
	if len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !plain(c) {
			return false
		}
	}
	return true
}

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
	known := s.logged[pattern] || len(s.logged) >= maxLogged
	if !known {
		s.logged[pattern] = true
	}
	s.mu.Unlock()
	if !known {
		s.config.Logger.Warn(message, "access", fmt.Sprintf("%.80q", pattern), "error", err)
	}
}

// plain reports whether the byte is one that tokens and ids consist of.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}
