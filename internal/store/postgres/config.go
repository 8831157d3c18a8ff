package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options are the limits of a database. A zero field takes its default; the settings of the address itself (connect_timeout,
// statement_timeout, pool_max_conns and the like) override both.
type Options struct {
	// MaxConns is the size of the pool: 4 for each CPU, at least 8.
	MaxConns int
	// ConnectTimeout is for one host: 3 s.
	ConnectTimeout time.Duration
	// AcquireTimeout is how long a call waits for a connection of a busy pool, if its context does not end sooner: 5 s.
	AcquireTimeout time.Duration
	// StatementTimeout, LockTimeout and IdleInTxTimeout are enforced by the server:
	// 30 s, 10 s and 30 s. A pooler that refuses them as startup parameters needs
	// ignore_startup_parameters.
	StatementTimeout, LockTimeout, IdleInTxTimeout time.Duration
	// MaxConnLifetime is when a connection is replaced, give or take a fifth, so nodes drift back to the right server after a
	// failover: 5 min.
	MaxConnLifetime time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = max(8, 4*runtime.NumCPU())
	}
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&o.ConnectTimeout, 3 * time.Second},
		{&o.AcquireTimeout, 5 * time.Second},
		{&o.StatementTimeout, 30 * time.Second},
		{&o.LockTimeout, 10 * time.Second},
		{&o.IdleInTxTimeout, 30 * time.Second},
		{&o.MaxConnLifetime, 5 * time.Minute},
	} {
		if *d.value <= 0 {
			*d.value = d.or
		}
	}
	return o
}

// parseConfig reads an address. Its errors never quote the address: a typo may have put the password anywhere.
func parseConfig(address string, o Options) (*pgxpool.Config, error) {
	if strayAt(address) {
		return nil, errAddress("an @ stands after the host")
	}
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, errAddress(parseCause(err))
	}
	conn := cfg.ConnConfig

	if !strings.Contains(address, "pool_max_conns=") {
		cfg.MaxConns = int32(min(o.MaxConns, math.MaxInt16)) //nolint:gosec // it fits
	}
	if !strings.Contains(address, "pool_max_conn_lifetime=") {
		cfg.MaxConnLifetime = o.MaxConnLifetime
	}
	if cfg.MaxConnLifetimeJitter == 0 {
		cfg.MaxConnLifetimeJitter = cfg.MaxConnLifetime / 5
	}
	if cfg.PingTimeout == 0 {
		cfg.PingTimeout = 2 * time.Second
	}

	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = o.ConnectTimeout
	}
	// Within half a minute, notice that a peer has vanished, on an idle LISTEN too.
	dialer := net.Dialer{
		Timeout:         conn.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	conn.DialFunc = dialer.DialContext
	if conn.ValidateConnect == nil && len(hosts(conn)) > 1 && !saysTarget(address) {
		conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	// If a caller leaves, stop its statement on the server and keep the connection, which plain pgx would close.
	conn.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: time.Second}
	}

	for name, value := range map[string]string{
		"application_name":                    "ringfence",
		"statement_timeout":                   milliseconds(o.StatementTimeout),
		"lock_timeout":                        milliseconds(o.LockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(o.IdleInTxTimeout),
		"jit":                                 "off", // it takes longer than the longest statement here
	} {
		if _, ok := conn.RuntimeParams[name]; !ok && !strings.Contains(conn.RuntimeParams["options"], name) {
			conn.RuntimeParams[name] = value
		}
	}
	cfg.AfterConnect = timesInUTC
	return cfg, nil
}

// timesInUTC makes times the same as those of the other engine: pgx returns them in the local zone.
func timesInUTC(_ context.Context, c *pgx.Conn) error {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func saysTarget(address string) bool {
	return strings.Contains(address, "target_session_attrs") || os.Getenv("PGTARGETSESSIONATTRS") != ""
}

// hosts returns the servers of an address, each once: pgx has a further entry for each way to speak TLS.
func hosts(c *pgx.ConnConfig) []string {
	all := []string{hostPort(c.Host, c.Port)}
	for _, f := range c.Fallbacks {
		if h := hostPort(f.Host, f.Port); !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

func hostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// place returns where a database is, without user or password.
func place(c *pgx.ConnConfig) string {
	return fmt.Sprintf("database %q at %s", c.Database, strings.Join(hosts(c), ", "))
}

func errAddress(cause string) error {
	return fmt.Errorf("the PostgreSQL address cannot be read: %s; its form is "+
		"postgres://user@host:port/database?sslmode=verify-full, with a :password behind the user, percent-encoded", cause)
}

// strayAt reports an @ in the path of a URL that has none before it: an unescaped slash in the password. pgx would read the
// parts of the password as a host and a database name, and then show them.
func strayAt(address string) bool {
	_, rest, isURL := strings.Cut(address, "://")
	if !isURL {
		return false
	}
	i := strings.IndexAny(rest, "/?")
	return i >= 0 && !strings.Contains(rest[:i], "@") && strings.Contains(rest[i:], "@")
}

// parseCause says what is wrong with an address, in words that are known to hold nothing of it. pgx's own text hides passwords
// only as well as it can.
func parseCause(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return "opening " + path.Path + ": " + path.Err.Error()
	}
	for _, words := range []string{
		"invalid port", "port numbers to", "invalid connect_timeout", "unknown target_session_attrs value", "failed to configure TLS",
		"failed to read service", "invalid sslcertmode", "unknown channel_binding value", "invalid require_auth",
		"invalid min_protocol_version", "invalid max_protocol_version", "cannot parse pool_", "pool_max_conns too small",
	} {
		if strings.Contains(err.Error(), ": "+words) || strings.Contains(err.Error(), words+" ") {
			return strings.TrimSuffix(words, " to")
		}
	}
	return "it is malformed"
}
