package transaction

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

const (
	// keyHeader is the header of draft-ietf-httpapi-idempotency-key-header.
	keyHeader = "Idempotency-Key"
	// maxKey is the longest key, in characters.
	maxKey = 255
	// keptFor is how long a response is kept; sweepEvery is how often a node deletes those that have expired.
	keptFor    = 24 * time.Hour
	sweepEvery = 10 * time.Minute
)

// Idempotency makes the POST operations of an engine take the header Idempotency-Key: a request that is sent again with the same
// key does nothing, and gets the first one's response. The table is confd_idempotency.
//
// The response is written in the transaction of the request's own changes, so there is none without the other, and of several
// requests with one key, on any nodes, one is done. It is kept sealed with the key that the client sent, since it may have
// passwords in it: nobody can read it who has only the database. A refused request leaves nothing, and can be sent again.
type Idempotency struct {
	// running are the digests of the requests that this node is doing.
	running sync.Map
	// swept is when this node last deleted those that had expired, in nanoseconds since 1970.
	swept atomic.Int64
}

// Idempotent returns the handler of an operation that takes the header.
func (e *Runner) Idempotent(handle rest.Handler) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (rest.Reply, error) {
		lines := r.HTTP.Header.Values(keyHeader)
		if len(lines) == 0 {
			return handle(ctx, r)
		}
		key, err := readKey(lines)
		if err != nil {
			return rest.Reply{}, err
		}
		scope, err := e.TenantOf(ctx, r)
		if err != nil {
			return rest.Reply{}, err
		}
		body, err := r.ReadBody()
		if err != nil {
			return rest.Reply{}, err
		}
		k, err := newKeyed(r, scope, key, body)
		if err != nil {
			return rest.Reply{}, err
		}
		if _, running := e.Idempotency.running.LoadOrStore(k.digest, nil); running {
			e := apierr.New(apierr.Conflict, "A request with this %s is in progress", keyHeader)
			e.RetryAfter = time.Second
			return rest.Reply{}, e
		}
		defer e.Idempotency.running.Delete(k.digest)
		var preloadErr error // it matters only if the request is done now
		if preload := r.Op().Preload; preload != nil {
			r.HTTP.Body = io.NopCloser(bytes.NewReader(body))
			r.Preload, preloadErr = preload(ctx, r)
		}
		reply, err := e.onceOnly(ctx, k, func(ctx context.Context) (rest.Reply, error) {
			if preloadErr != nil {
				return rest.Reply{}, preloadErr
			}
			r.HTTP.Body = io.NopCloser(bytes.NewReader(body)) // the transaction may run again
			return handle(ctx, r)
		})
		if err == nil {
			e.sweepKeys(ctx)
		}
		return reply, err
	}
}

// onceOnly does a request, and keeps its response, unless that was done.
func (e *Runner) onceOnly(ctx context.Context, k *keyed, do func(ctx context.Context) (rest.Reply, error)) (reply rest.Reply, err error) {
	err = e.inTxOf(ctx, e.DB, k.tenant, func(ctx context.Context, c store.Conn) error {
		kept, err := k.claim(ctx, c)
		if err != nil {
			return err
		}
		if kept != nil {
			reply, err = k.open(kept)
			return err
		}
		if reply, err = do(ctx); err != nil {
			return err
		}
		if reply.Status >= http.StatusBadRequest {
			return errUndo
		}
		return k.keep(ctx, c, &reply)
	})
	if errors.Is(err, errUndo) {
		err = nil
	}
	return reply, err
}

// sweepKeys deletes what has expired, now and then. If that fails, the next one will do it.
func (e *Runner) sweepKeys(ctx context.Context) {
	i := e.Idempotency
	now, last := time.Now(), i.swept.Load()
	if now.Sub(time.Unix(0, last)) <= sweepEvery || !i.swept.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	if _, err := e.DB.Exec(ctx, `DELETE FROM confd_idempotency WHERE expires_at <= $1`, now.Unix()); err != nil {
		slog.WarnContext(ctx, "expired responses were not deleted", slog.Any("error", err))
	}
}

// readKey reads the header: a string of RFC 8941, or the same without quotes, as many clients send it.
func readKey(lines []string) (string, error) {
	key := strings.Trim(lines[0], " ")
	if len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"' {
		key = key[1 : len(key)-1]
	}
	odd := func(r rune) bool { return r < '!' || r > '~' || strings.ContainsRune(`"\,;`, r) }
	if len(lines) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, odd) {
		return "", apierr.New(apierr.Invalid,
			"%s must be sent once, with 1 to %d visible ASCII characters without quotes, backslashes, commas and semicolons", keyHeader, maxKey)
	}
	return key, nil
}

// keyed is a request with a key.
type keyed struct {
	tenant, key string
	// digest identifies the request: it is equal for the same caller, tenant, operation and key. request is a digest of its content and
	// of the key: a PIN in a body could be guessed from a digest of the body alone.
	digest, request string
	// accesses is a digest of the caller's accesses. A response is for those who have the same: others might not read what is in it.
	accesses string
}

func newKeyed(r *rest.Request, scope, key string, body []byte) (*keyed, error) {
	p := r.Principal()
	if p.UserUUID == "" {
		return nil, apierr.New(apierr.Invalid, "%s needs the token of a user", keyHeader)
	}
	if value, err := rest.ParseJSON(body); err == nil { // spaces and the order of names mean nothing
		if body, err = rest.Marshal(value); err != nil {
			return nil, err
		}
	}
	return &keyed{
		tenant: scope, key: key, digest: digest(p.UserUUID, scope, r.HTTP.Method, r.HTTP.URL.Path, key),
		request:  digest(key, r.HTTP.URL.RawQuery, string(body)),
		accesses: digest(slices.Compact(slices.Sorted(slices.Values(p.ACL.Patterns())))...),
	}, nil
}

// digest returns a hash of texts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// keptReply is a response as it is sealed.
type keptReply struct {
	Status int             `json:"status"`
	Header http.Header     `json:"header"`
	Body   json.RawMessage `json:"body,omitempty"`
	// Accesses is a digest of the accesses of the caller who got it.
	Accesses string `json:"accesses"`
}

type keptRow struct {
	Request string `db:"request"`
	Sealed  []byte `db:"sealed"`
}

// claim makes the request the one with its key, or returns the earlier one. If another node is doing it, that is awaited.
func (k *keyed) claim(ctx context.Context, c store.Conn) (*keptRow, error) {
	now := time.Now()
	if _, err := c.Exec(ctx, `DELETE FROM confd_idempotency WHERE digest = $1 AND expires_at <= $2`, k.digest, now.Unix()); err != nil {
		return nil, err
	}
	made, err := c.Exec(ctx, `INSERT INTO confd_idempotency (digest, tenant_uuid, request, sealed, expires_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (digest) DO NOTHING`, k.digest, k.tenant, k.request, []byte{}, now.Add(keptFor).Unix())
	if err != nil || made > 0 {
		return nil, err
	}
	kept, err := store.Get[keptRow](ctx, c, `SELECT request, sealed FROM confd_idempotency WHERE digest = $1`, k.digest)
	return &kept, err
}

func (k *keyed) keep(ctx context.Context, c store.Conn, reply *rest.Reply) error {
	kept := keptReply{Status: reply.Status, Header: reply.Header, Accesses: k.accesses}
	if reply.Body != nil {
		var err error
		if kept.Body, err = rest.Marshal(reply.Body); err != nil {
			return err
		}
	}
	plain, err := rest.Marshal(kept)
	if err != nil {
		return err
	}
	seal, err := k.cipher()
	if err != nil {
		return err
	}
	sealed := seal.Seal(nil, nil, plain, []byte(k.digest)) //nolint:gosec // this cipher chooses the nonce, and puts it first
	_, err = c.Exec(ctx, `UPDATE confd_idempotency SET sealed = $1 WHERE digest = $2`, sealed, k.digest)
	return err
}

// open returns the response of an earlier request. It refuses the key for any other request.
func (k *keyed) open(row *keptRow) (rest.Reply, error) {
	if row.Request != k.request {
		return rest.Reply{}, apierr.New(apierr.Unprocessable, "This %s was sent with another request", keyHeader)
	}
	seal, err := k.cipher()
	if err != nil {
		return rest.Reply{}, err
	}
	plain, err := seal.Open(nil, nil, row.Sealed, []byte(k.digest))
	if err != nil {
		return rest.Reply{}, fmt.Errorf("opening a kept response: %w", err)
	}
	var kept keptReply
	if err := json.Unmarshal(plain, &kept); err != nil {
		return rest.Reply{}, fmt.Errorf("reading a kept response: %w", err)
	}
	if kept.Accesses != k.accesses {
		return rest.Reply{}, apierr.New(apierr.Forbidden,
			"The request with this %s is done; its response is only for a token with the accesses of the one that sent it", keyHeader)
	}
	reply := rest.Reply{Status: kept.Status, Header: kept.Header}
	if kept.Body != nil {
		reply.Body = []byte(kept.Body)
	}
	return reply, nil
}

func (k *keyed) cipher() (cipher.AEAD, error) {
	secret, err := hkdf.Key(sha256.New, []byte(k.key), []byte(k.digest), "kept response", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
