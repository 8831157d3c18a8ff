package authsvc

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/crud/transaction"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tokens"
)

// RevocationChannel is the channel on which nodes that share a database tell each other what to forget (tokens.Follow).
const RevocationChannel = "ringfence_revocations"

// forget is one thing that every node must forget. Its message is sent with the transaction that revokes, and this node's cache
// forgets it before the response.
//
// If the process dies between the commit and that, its cache is gone with it; other nodes get the message with the commit. If it
// is unknown whether a transaction was committed, this node also receives the message (tokens.Follow).
type forget struct {
	message string
	local   func(*tokens.Cache)
	user    string // whose account may have changed; everybody for all
}

const everybody = "*"

func forgetUser(uuid string) forget {
	return forget{tokens.ForgetUserMessage(uuid), func(c *tokens.Cache) { c.ForgetUser(uuid) }, uuid}
}

func forgetToken(d tokens.Digest) forget {
	return forget{tokens.ForgetTokenMessage(d), func(c *tokens.Cache) { c.ForgetToken(d) }, ""}
}

func forgetAll() forget {
	return forget{tokens.ForgetAllMessage(), func(c *tokens.Cache) { c.ForgetAll() }, everybody}
}

// announce tells the other nodes what to forget, and this one after the commit of the transaction, which is the engine's.
func (s *Service) announce(ctx context.Context, tx store.Conn, what ...forget) error {
	transaction.AfterCommit(ctx, func() { s.forgetHere(what...) })
	for _, f := range what {
		if err := s.db.Notify(ctx, tx, RevocationChannel, f.message); err != nil {
			return fmt.Errorf("announcing a revocation: %w", err)
		}
	}
	return nil
}

// forgetHere makes this node's cache forget.
func (s *Service) forgetHere(what ...forget) {
	if c := s.cache.Load(); c != nil {
		for _, f := range what {
			f.local(c)
		}
	}
	s.recheckCredentials(what)
}

// maxForgets is how many users a change may touch before all tokens are forgotten at once instead of theirs alone.
const maxForgets = 100

// forgetUsers returns what must be forgotten when a change touches what the users hold: their tokens, and those of the users for
// whom they vouch.
func forgetUsers(ctx context.Context, c store.Conn, of users) ([]forget, error) {
	uuids, err := store.Select[string](ctx, c, fmt.Sprintf(`
		WITH touched AS (%s)
		SELECT user_uuid FROM touched
		UNION SELECT v.user_uuid FROM auth_voucher v JOIN touched ON touched.user_uuid = v.by_uuid
		UNION SELECT u.uuid FROM auth_user u JOIN auth_tenant_voucher v ON v.tenant_uuid = u.tenant_uuid JOIN touched ON touched.user_uuid = v.by_uuid
			WHERE u.authentication_method <> '%s'
		LIMIT %d`, of.sql, nativeMethod, maxForgets+1), of.args...)
	if err != nil {
		return nil, err
	}
	if len(uuids) > maxForgets {
		return []forget{forgetAll()}, nil
	}
	out := make([]forget, 0, len(uuids))
	for _, u := range uuids {
		out = append(out, forgetUser(u))
	}
	return out, nil
}

// announceHoldings ends the transaction of a change of what the users hold. It checks that somebody still administers and that nobody holds
// more than a token can have, and announces what is gone.
func (s *Service) announceHoldings(ctx context.Context, tx store.Conn, of users, gone ...forget) error {
	if err := keepAdministrator(ctx, tx); err != nil {
		return err
	}
	if err := checkTotals(ctx, tx, of); err != nil {
		return err
	}
	return s.announce(ctx, tx, gone...)
}

// announceLinked is announceHoldings for what users have been given, or have lost.
func (s *Service) announceLinked(ctx context.Context, tx store.Conn, of users) error {
	gone, err := forgetUsers(ctx, tx, of)
	if err != nil {
		return err
	}
	return s.announceHoldings(ctx, tx, of, gone...)
}
