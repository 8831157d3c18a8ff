package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// The steps whose times are compared.
const (
	stepLogIn    = "login with a password (argon2id and all)"
	stepIssue    = "issue by refresh token (the database's part of a login)"
	stepUncached = "first check of a token (HEAD, from the database)"
	stepCached   = "second check of the token (HEAD, from the cache)"
	stepRecord   = "a token's record (GET)"
	stepRevoke   = "revoke"
)

var steps = []string{stepLogIn, stepIssue, stepUncached, stepCached, stepRecord, stepRevoke}

// flat is how much slower a step may be with a thousand times as many tokens.
const flat = 1.3

// flatRow compares the elapsed time of a step in a town of few tokens with that in a town of many, for one client that has one
// connection to each of two gateways and alternates between them.
func flatRow(step string, few, many int, before, after []time.Duration) row {
	r := float64(median(after)) / float64(median(before))
	return row{
		what:     fmt.Sprintf("%s: %d live tokens / %d (PostgreSQL)", step, many, few),
		measured: fmt.Sprintf("%.2f x: %s against %s, medians of %d", r, millis(median(after)), millis(median(before)), len(after)),
		budget:   fmt.Sprintf("%.2f x", flat), verdict: judge(r <= flat),
	}
}

// townRows measures with PostgreSQL: a token's life in a database of few live tokens and in one of many, and operations on many
// tokens at once in the latter.
func (b *bench) townRows(release string) (rows []row, err error) {
	counts, rounds, endings := [2]int{1000, 1_000_000}, 600, 7
	if b.quick {
		counts, rounds, endings = [2]int{1000, 50_000}, 100, 3
	}
	server := os.Getenv(dsnVariable)
	if server == "" {
		return []row{{"tokens, sessions and logins on PostgreSQL", dsnVariable + " is not set: run `make bench`", "", skipped}}, nil
	}
	ctx := context.Background()
	var towns [2]resident
	for i, count := range counts {
		t, err := b.newTown(ctx, release, server, fmt.Sprintf("town%d", count))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, t.close()) }()
		if err := t.settle(ctx, count, rounds); err != nil {
			return nil, err
		}
		towns[i].town = t
	}
	for i := range towns { // now, since a gateway closes connections that nobody uses
		if towns[i], err = newResident(ctx, towns[i].town); err != nil {
			return nil, err
		}
	}
	for round := range rounds {
		for i := range towns {
			if err := towns[(round+i)%2].live(round); err != nil {
				return nil, err
			}
		}
	}
	for _, step := range steps {
		rows = append(rows, flatRow(step, counts[0], counts[1], towns[0].took[step], towns[1].took[step]))
	}
	ended, err := towns[1].endingRows(ctx, endings)
	if err != nil {
		return rows, err
	}
	logins, err := towns[1].loginRows()
	return append(append(rows, ended...), logins...), err
}

// resident takes the steps in one town, and records their times.
type resident struct {
	*town
	client  *client
	refresh []string
	took    map[string][]time.Duration
}

func newResident(ctx context.Context, t *town) (r resident, err error) {
	r = resident{town: t, took: map[string][]time.Duration{}}
	if r.refresh, err = t.refreshTokens(ctx, 20); err == nil {
		r.client, err = dial(t.node.address())
	}
	return r, err
}

// logInEvery is in how many rounds there is one login with a password, which takes as long as all the rest.
const logInEvery = 10

// live takes all the steps once. The token that is checked and revoked is not the one just issued, but an older one from the
// middle of the table.
func (r resident) live(round int) error {
	const base = "/api/auth/0.1/token"
	if round%logInEvery == 0 {
		name := fmt.Sprintf("bench%d", round/logInEvery%50)
		login := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+adminPassword))
		if err := r.step(stepLogIn, http.StatusOK, http.MethodPost, base, `{}`, login); err != nil {
			return err
		}
	}
	body, err := json.Marshal(map[string]string{"refresh_token": r.refresh[round%len(r.refresh)], "client_id": benchClient})
	if err != nil {
		return err
	}
	if err := r.step(stepIssue, http.StatusOK, http.MethodPost, base, string(body)); err != nil {
		return err
	}
	token := base + "/" + r.town.live[round]
	for _, s := range []struct {
		name, method string
		status       int
	}{
		{stepUncached, http.MethodHead, http.StatusNoContent},
		{stepCached, http.MethodHead, http.StatusNoContent},
		{stepRecord, http.MethodGet, http.StatusOK},
		{stepRevoke, http.MethodDelete, http.StatusOK},
	} {
		if err := r.step(s.name, s.status, s.method, token, ""); err != nil {
			return err
		}
	}
	return nil
}

func (r resident) step(name string, want int, method, path, body string, header ...string) error {
	began := time.Now()
	status, answer, err := r.client.call(method, path, body, header...)
	r.took[name] = append(r.took[name], time.Since(began))
	if err == nil && status != want {
		err = fmt.Errorf("answered %d: %s", status, answer)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, r.node.log)
	}
	return nil
}
