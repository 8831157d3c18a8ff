package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/callrecords"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/made"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/tokens"
)

// engines keeps one engine for each database, shared by the configurations that name it: during a reload two of them live at
// once, and both must use one cache and one pool.
var engines = caddy.NewUsagePool()

// engine owns everything that belongs to one database: the services on it and the cache of its tokens. Creating it does not touch
// the database, so that `ringfence validate` opens nothing; start does.
type engine struct {
	key  string
	data string // the data folder
	keys string // the sealing keys, or "" for those in the data folder
	db   *store.Late
	room *store.Probe // of the folders in which the gateway writes
	auth *authsvc.Service
	// confd is the telephony configuration service; helpers the helper endpoints.
	confd   *rest.Service
	helpers *helpers.Service
	records *callrecords.Service
	// telephone configures Asterisk.
	telephone *telephone
	cache     *tokens.Cache
	metrics   *metrics
	box       *sealed.Box

	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // outlives every request and every configuration
	work   sync.WaitGroup

	mu       sync.Mutex  // held while starting
	started  atomic.Bool // the database is open and has its first administrator
	starting atomic.Bool // keepStarting is at work
}

// useEngine takes a share of the engine of a database; release releases it. The engine keeps the sealing keys of the first
// configuration (from its data folder if it names none) and refuses a configuration with others.
func useEngine(key, data, keys string) (*engine, error) {
	value, _, err := engines.LoadOrNew(key, func() (caddy.Destructor, error) { return newEngine(key, data, keys) })
	if err != nil {
		return nil, err
	}
	e := value.(*engine)
	if e.keys != keys {
		return nil, errors.Join(errors.New("sealing_keys (RINGFENCE_SEALING_KEYS) differ from those in use: restart the gateway to use them"), e.release())
	}
	return e, nil
}

func (e *engine) release() error {
	_, err := engines.Delete(e.key)
	return err
}

func newEngine(key, data, keys string) (*engine, error) {
	db := store.NewLate()
	box := sealed.New(sealed.Options{File: filepath.Join(data, "sealing-key"), Keys: keys})
	phone := newTelephone(db)
	auth, err := authsvc.New(authsvc.Options{
		DB: db, Sealer: box, ClientIP: clientIP, TenantChanged: phone.tenantChanged,
		Contents: confdsvc.ContentsOf(db, phone.filesChanged), People: confdsvc.People,
	})
	if err != nil {
		return nil, fmt.Errorf("describing the authentication service: %w", err)
	}
	confd, err := confdsvc.New(confdsvc.Options{
		DB: db, Installation: auth.Installation, Logins: auth, Changed: phone.changed, Files: phone.filesChanged, Audio: phone.audio, Trunk: phone.trunk,
	})
	if err != nil {
		return nil, fmt.Errorf("describing the configuration service: %w", err)
	}
	phone.confd = confd
	auth.Audits(confd)
	help, err := helpers.New(helpers.Options{
		DB: db, Names: phone.snapshots.Names(), Telephony: phone, Commands: phone, Follows: phone.snapshots.LiveReload, Undone: phone.undone,
	})
	if err != nil {
		return nil, fmt.Errorf("describing the helper endpoints: %w", err)
	}
	phone.files = help
	auth.Audits(help.REST())
	metrics, err := useMetrics()
	if err != nil {
		return nil, err
	}
	records, err := callrecords.New(callrecords.Options{
		DB: db, Users: usersOf, Recordings: phone.recordings, FaxAddress: phone.snapshots.FaxAddress, SendFax: phone.sendFax, Unreadable: metrics.unreadable.Inc,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("describing the call records: %w", err), metrics.release())
	}
	phone.records = records
	auth.Audits(records.REST())
	cache, err := tokens.NewCache(auth, tokens.Options{OnLag: metrics.lagged, From: from, Complete: auth.Complete})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the token cache: %w", err), metrics.release())
	}
	auth.UseCache(cache)
	auth.UseNode(describeNode)
	e := &engine{
		key: key, data: data, db: db, auth: auth, confd: confd, helpers: help, records: records, telephone: phone, cache: cache,
		metrics: metrics, box: box, keys: keys,
	}
	folders := []string{data}
	if path, isFile := strings.CutPrefix(key, open.SQLiteScheme); isFile { // which may be on another disk
		if inData, err := open.Key(open.SQLiteScheme + filepath.Join(data, filepath.Base(path))); err != nil || inData != key {
			folders = append(folders, filepath.Dir(path))
		}
	}
	e.room = store.NewProbe(func(context.Context) error { return tryRoom(folders) })
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// openTimeout bounds opening, migrating and bootstrapping: ten nodes may wait for one that migrates.
const openTimeout = 2 * time.Minute

// errStarting says that the engine is already waiting for its database.
var errStarting = errors.New("still waiting for the database")

// start opens the database, once in the engine's life. It also fails if the database is unreachable: the caller decides whether
// to try again.
func (e *engine) start(ctx context.Context, address string, admin authsvc.Admin, configured authsvc.Configured) (authsvc.FirstStart, error) {
	if e.starting.Load() {
		return authsvc.FirstStart{}, errStarting
	}
	return e.startOnce(ctx, address, admin, configured)
}

// startOnce does the work of start. If the engine is already running, it puts the policies and groups of the new configuration
// into the database. They stay there, even if another part of that configuration is refused afterwards, until the next start or
// reload.
func (e *engine) startOnce(ctx context.Context, address string, admin authsvc.Admin, configured authsvc.Configured) (authsvc.FirstStart, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if e.started.Load() {
		return authsvc.FirstStart{}, e.auth.UseConfigured(ctx, configured)
	}
	file, err := made.Of(e.data, address)
	if err != nil {
		return authsvc.FirstStart{}, err
	}
	known, err := file.Known()
	if err == nil && e.db.Open() == nil {
		err = file.Check(known)
	}
	if err != nil {
		return authsvc.FirstStart{}, err
	}
	if e.db.Open() == nil {
		db, err := open.Open(ctx, address)
		if err != nil {
			return authsvc.FirstStart{}, fmt.Errorf("opening the database: %w", err)
		}
		if err := db.(store.Migrator).Migrate(ctx); err != nil {
			return authsvc.FirstStart{}, errors.Join(fmt.Errorf("bringing the database to this version's schema: %w", err), db.Close())
		}
		e.db.Set(db)
	}
	// A node without the key of the sealed secrets says so, and does everything else: it stands in for an unreachable node, and
	// only requests that need the key are refused until it has been copied here.
	if err := e.box.Prepare(ctx, e.db); errors.Is(err, sealed.ErrKey) {
		slog.Error("this node cannot read or keep refresh tokens and external credentials until it has the key", "error", err)
	} else if err != nil {
		return authsvc.FirstStart{}, err
	}
	admin.Made = known
	first, err := e.auth.Bootstrap(ctx, admin)
	if errors.Is(err, authsvc.ErrEmpty) {
		err = file.Lost("has nothing in it")
	}
	if err != nil {
		return first, err
	}
	if err := file.Remember(known); err != nil {
		return first, err
	}
	if err := e.auth.UseConfigured(ctx, configured); err != nil {
		return first, err
	}
	e.work.Go(e.sweep)
	e.work.Go(func() {
		if err := tokens.Follow(e.ctx, e.db, authsvc.RevocationChannel, e.cache); err != nil && e.ctx.Err() == nil {
			slog.Error("no longer following other nodes' revocations", "error", err)
		}
	})
	e.telephone.begin()
	e.started.Store(true)
	return first, nil
}

const sweepEvery = time.Minute

// sweep removes expired tokens, and old records of calls, and says that the node serves, until the engine ends. A token is worthless as
// soon as it expires, so nothing depends on when it is removed.
func (e *engine) sweep() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := e.announce(e.ctx); err != nil && e.ctx.Err() == nil {
			slog.Warn("telling the other nodes of this one; trying again in a minute", "error", err)
		}
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
			if _, err := e.auth.Sweep(e.ctx); err != nil && e.ctx.Err() == nil {
				slog.Warn("removing expired tokens; trying again in a minute", "error", err)
			}
			if err := e.records.Sweep(e.ctx); err != nil && e.ctx.Err() == nil {
				slog.Warn("removing old records of calls; trying again in a minute", "error", err)
			}
		}
	}
}

// keepStarting retries until the database is reachable or the engine ends.
func (e *engine) keepStarting(log *slog.Logger, address string, admin authsvc.Admin, configured authsvc.Configured, done func(authsvc.FirstStart)) {
	e.starting.Store(true)
	e.work.Go(func() {
		defer e.starting.Store(false)
		wait := time.Second
		for {
			select {
			case <-e.ctx.Done():
				return
			case <-time.After(wait):
			}
			first, err := e.startOnce(e.ctx, address, admin, configured)
			if err == nil {
				log.Info("the database is reachable now")
				done(first)
				return
			}
			log.Warn("the database still cannot be used; every request that needs it gets 503", "error", err)
			wait = min(2*wait, 4*time.Second)
		}
	})
}

var errNotStarted = errors.New("the database is not ready yet")

// ready returns an error if no requests can be served now.
func (e *engine) ready(ctx context.Context) error {
	if !e.started.Load() {
		return errNotStarted
	}
	if err := e.db.Ping(ctx); err != nil {
		return err
	}
	return e.room.Ask(ctx)
}

// Destruct stops the background work and closes the database, when no configuration uses it any more.
func (e *engine) Destruct() error {
	e.cancel()
	e.helpers.Close()
	e.telephone.end()
	e.work.Wait()
	e.auth.Close()
	e.cache.Close()
	if err := e.leave(); err != nil {
		slog.Warn("the other nodes will miss this one: nobody told them that it was stopped", "error", err)
	}
	return errors.Join(e.db.Close(), e.metrics.release())
}

var processStart = time.Now()

func describeNode() authsvc.Node {
	node := authsvc.Node{Version: Version, StartedAt: processStart}
	if served := certificate.InUse(); len(served) > 0 {
		node.Certificate = &authsvc.Certificate{Names: served[0].Names(), NotAfter: served[0].NotAfter().UTC(), SHA256: served[0].Fingerprint()}
	}
	return node
}
