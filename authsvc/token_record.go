package authsvc

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// tokenAnswer wraps the record, as existing clients expect.
type tokenAnswer struct {
	Data tokenRecord `json:"data"`
}

// tokenRecord is everything that a client may know about a token. The times without "utc" are in the server's local time; none
// has a zone.
type tokenRecord struct {
	Token         string        `json:"token"`
	AuthID        string        `json:"auth_id"`
	PBXUserUUID   *string       `json:"xivo_user_uuid"`
	ServerUUID    string        `json:"xivo_uuid"`
	IssuedAt      string        `json:"issued_at"`
	ExpiresAt     string        `json:"expires_at"`
	UTCIssuedAt   string        `json:"utc_issued_at"`
	UTCExpiresAt  string        `json:"utc_expires_at"`
	ACL           []string      `json:"acl"`
	Metadata      tokenMetadata `json:"metadata"`
	SessionUUID   string        `json:"session_uuid"`
	RemoteAddress string        `json:"remote_addr"`
	UserAgent     string        `json:"user_agent"`
	RefreshToken  string        `json:"refresh_token,omitempty" doc:"Only in the answer to a login that asked for access_type offline."`
}

type tokenMetadata struct {
	UUID        string  `json:"uuid"`
	TenantUUID  string  `json:"tenant_uuid"`
	AuthID      string  `json:"auth_id"`
	PBXUserUUID *string `json:"pbx_user_uuid"`
	ServerUUID  string  `json:"xivo_uuid"`
	Purpose     string  `json:"purpose"`
}

// liveRecord is a live token with the fields that only its record shows.
type liveRecord struct {
	liveToken
	IssuedAt   time.Time `db:"issued_at"`
	UserAgent  string    `db:"user_agent"`
	RemoteAddr string    `db:"remote_addr"`
}

var selectLiveRecord = liveTokenBy(", t.issued_at, t.user_agent, t.remote_addr")

// record reads a live token's record.
func (s *Service) record(ctx context.Context, token string) (tokenRecord, error) {
	d := tokens.DigestOf(token)
	t, err := store.Get[liveRecord](ctx, s.db, selectLiveRecord, d[:])
	if errors.Is(err, store.ErrNotFound) {
		return tokenRecord{}, tokens.ErrUnknown
	}
	if err != nil {
		return tokenRecord{}, err
	}
	if ok, err := s.tokenStands(ctx, &t.liveToken); err != nil || !ok {
		return tokenRecord{}, firstError(err, tokens.ErrUnknown)
	}
	held, err := s.acls.Compile(t.accesses())
	if err != nil {
		return tokenRecord{}, err
	}
	server := s.Installation()
	var pbxUser *string
	if t.Purpose == "user" {
		pbxUser = &t.UserUUID
	}
	local := func(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05.000000") }
	return tokenRecord{
		Token: token, AuthID: t.UserUUID, PBXUserUUID: pbxUser, ServerUUID: server,
		IssuedAt: local(t.IssuedAt), ExpiresAt: local(t.ExpiresAt),
		UTCIssuedAt: rest.Timestamp(t.IssuedAt), UTCExpiresAt: rest.Timestamp(t.ExpiresAt),
		ACL: append([]string{}, held.Patterns()...), SessionUUID: t.SessionUUID, RemoteAddress: t.RemoteAddr, UserAgent: t.UserAgent,
		Metadata: tokenMetadata{
			UUID: t.UserUUID, TenantUUID: t.TenantUUID, AuthID: t.UserUUID, PBXUserUUID: pbxUser, ServerUUID: server, Purpose: t.Purpose,
		},
	}, nil
}

// clip keeps what a client says about itself short and printable.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > 512 {
		return string(runes[:512])
	}
	return text
}

func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}
