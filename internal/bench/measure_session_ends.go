package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/store"
)

const manySessions = 10_000

// endingRows ends many sessions of one user by disabling the user through the API, and compares that with the bare statement that
// deletes as many rows from the same table.
func (t *town) endingRows(ctx context.Context, rounds int) ([]row, error) {
	c, err := dial(t.node.address())
	if err != nil {
		return nil, err
	}
	defer c.conn.Close()
	users, err := store.Select[string](ctx, t.db, `SELECT CAST(uuid AS text) FROM auth_user WHERE purpose = 'external_api' ORDER BY uuid DESC LIMIT 2`)
	if err != nil {
		return nil, err
	}
	var whole, bare []time.Duration
	for range rounds {
		for _, user := range users {
			if err := t.sessions(ctx, user, manySessions); err != nil {
				return nil, err
			}
		}
		took, err := t.enable(c, users[0], false)
		if err != nil {
			return nil, err
		}
		whole = append(whole, took)
		left, err := store.Get[int](ctx, t.db, `SELECT count(*) FROM auth_token WHERE user_uuid = $1`, users[0])
		if err != nil || left > 0 {
			return nil, fmt.Errorf("%d sessions are left: %w", left, err)
		}
		began := time.Now()
		if _, err := t.db.Exec(ctx, `DELETE FROM auth_token WHERE user_uuid = $1`, users[1]); err != nil {
			return nil, err
		}
		bare = append(bare, time.Since(began))
		if _, err := t.enable(c, users[0], true); err != nil {
			return nil, err
		}
	}
	ratios := make([]float64, rounds)
	for i := range ratios {
		ratios[i] = float64(whole[i]) / float64(bare[i])
	}
	return []row{{
		what:     fmt.Sprintf("end %d sessions of one user, through the API / the bare DELETE (PostgreSQL)", manySessions),
		measured: fmt.Sprintf("%.2f x: %s against %s, medians of %d", median(ratios), millis(median(whole)), millis(median(bare)), rounds),
	}}, nil
}

// sessions gives a user so many live sessions.
func (t *town) sessions(ctx context.Context, user string, n int) error {
	_, err := t.db.Exec(ctx, `
		INSERT INTO auth_token (digest, session_uuid, user_uuid, issued_at, expires_at, mobile, user_agent, remote_addr)
		SELECT sha256(uuid_send(gen_random_uuid())), gen_random_uuid(), $1, now_utc(), now_utc() + interval '1 day', false, 'bench', '127.0.0.1'
		FROM generate_series(1, CAST($2 AS integer))`, uuid.MustParse(user), n)
	return err
}

// enable enables or disables a user, and returns how long that took.
func (t *town) enable(c *client, user string, enabled bool) (time.Duration, error) {
	began := time.Now()
	status, answer, err := c.call(http.MethodPut, "/api/auth/0.1/users/"+user, fmt.Sprintf(`{"enabled": %t}`, enabled), "X-Auth-Token: "+t.admin)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("changing a user: answered %d: %s", status, answer)
	}
	return time.Since(began), err
}
