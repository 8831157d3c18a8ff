// Package doctor examines an installation without changing it, and says what to do: its files, database, certificates, ports, and what it
// speaks to. The gateway may run or not.
package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/webaddress"
)

// State is what a finding says.
type State string

// The states, from good to bad. A warning can wait; a problem keeps something from working, or from being safe.
const (
	OK      State = "ok"
	Warning State = "warning"
	Problem State = "problem"
)

// Finding is what was found about one thing.
type Finding struct {
	Subject string `json:"subject" example:"disk space" doc:"What was looked at."`
	State   State  `json:"state" enum:"ok,warning,problem" doc:"A warning can wait; a problem keeps something from working, or from being safe."`
	Text    string `json:"text" example:"512 MiB are free for /var/lib/ringfence" doc:"What was found."`
	// Advice says what to do, unless the state is OK.
	Advice string `json:"advice,omitempty" example:"make room: a full disk stops the database and the logs" doc:"What to do, if there is anything."`
}

// Installation is what is examined.
type Installation struct {
	// Data is the data folder, and Database the address of the database.
	Data, Database string
	// SealingKeys are the keys if they are not in the data folder.
	SealingKeys string
	// PublicURL is where browsers reach the gateway, or "".
	PublicURL string
	// Manager is Asterisk's manager interface; without an address there is none.
	Manager ami.Options
	// Music are the folders in which the default music on hold may be, that of Asterisk's data last.
	Music []string
	// Folders are those of Asterisk in which the gateway changes files.
	Folders []string
	// Telephony returns what Asterisk's files lack of what a database of this program's schema stores, and the dialplan among them. Nil: that is not
	// looked at.
	Telephony func(ctx context.Context, db store.DB) ([]leftout.Omission, *conf.Dialplan, error)
	// Config is what the configuration says, or nil if it is not known.
	Config *Config
}

// Config is what matters of a configuration of Caddy.
type Config struct {
	// Admin is the address of the admin API: "unix/path|mode", host:port, or "off".
	Admin string
	// Listen are the addresses of the servers, and Upstreams those of the daemons behind them.
	Listen    []Listener
	Upstreams []string
	// Certificates are the files of certificates of one's own.
	Certificates []Pair
	// Managed are the names for which Caddy gets certificates, which it keeps in the folder Storage; "" if that is not known.
	Managed []string
	Storage string
	// Logs are the files of the logs.
	Logs []string
	// SelfSigned is set if the gateway's self-signed certificate is served, perhaps besides others.
	SelfSigned bool
}

// Listener is an address on which a server listens.
type Listener struct {
	// Scheme is https or http, Address as ":8443", and Name one of the server's sites, or "" if it serves any name.
	Scheme, Address, Name string
}

// Pair are the files of a certificate and of its key.
type Pair struct{ Certificate, Key string }

// patience bounds one question to the network.
const patience = 3 * time.Second

// Examine returns a finding for each thing that it looked at.
func Examine(ctx context.Context, i Installation) []Finding {
	findings := i.folder()
	findings = append(findings, i.space())
	var dialplan *conf.Dialplan
	if telephony := i.Telephony; telephony != nil {
		i.Telephony = func(ctx context.Context, db store.DB) (left []leftout.Omission, d *conf.Dialplan, err error) {
			left, d, err = telephony(ctx, db)
			dialplan = d
			return left, d, err
		}
	}
	findings = append(findings, i.database(ctx)...)
	findings = append(findings, i.certificates(ctx)...)
	if i.Config == nil {
		findings = append(findings, Finding{"configuration", Warning, "it was not found: nobody looked at ports, admin API and upstreams", "name it with --config"})
	} else {
		holder := i.running()
		findings = append(findings, i.Config.admin(holder))
		for _, listener := range i.Config.Listen {
			findings = append(findings, port(ctx, listener, holder))
		}
		for _, address := range i.Config.Upstreams {
			findings = append(findings, upstream(ctx, address))
		}
	}
	if i.Manager.Address != "" {
		findings = append(findings, i.music())
	}
	findings = append(findings, i.asterisks()...)
	return append(findings, i.manager(ctx, dialplan))
}

// Worst returns the worst state of findings.
func Worst(findings []Finding) State {
	worst := OK
	for _, f := range findings {
		if f.State == Problem || worst == OK {
			worst = f.State
		}
	}
	return worst
}

// running returns the ID of the gateway that uses the data folder, or "".
func (i Installation) running() string {
	holder, _ := private.LockHolder(filepath.Join(i.Data, "lock")) // what cannot be read is reported by folder
	return holder
}

// admin examines who can reach the admin API of the gateway holder, which is "" if none runs.
func (c *Config) admin(holder string) Finding {
	const subject = "admin API"
	path, isSocket := strings.CutPrefix(c.Admin, "unix/")
	path, _, _ = strings.Cut(path, "|")
	host, _, err := net.SplitHostPort(c.Admin)
	switch {
	case c.Admin == "off":
		return Finding{subject, OK, "it is off", ""}
	case isSocket:
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && holder != "" {
			return Finding{
				subject, Problem, "its socket " + path + " is missing, although the gateway runs (process " + holder + "): no command can reload or stop it",
				"set RINGFENCE_ADMIN_SOCKET and RINGFENCE_DATA to what the gateway has; if they are, restart it",
			}
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			return Finding{
				subject, Problem, fmt.Sprintf("other users may open its socket %s (mode %04o), and so change the configuration", path, info.Mode().Perm()),
				"run \"chmod 600 " + path + "\", and write |0600 behind the socket in the option admin",
			}
		}
		return Finding{subject, OK, "it is the socket " + path + ", which only its owner may open", ""}
	case err == nil && webaddress.Local(host):
		return Finding{
			subject, Warning, "it is at " + c.Admin + ": every user and program of this machine can change the configuration",
			"use a socket, as the Caddyfile that comes with ringfence does: admin unix/<data folder>/admin.sock|0600",
		}
	default:
		return Finding{
			subject, Problem, "it is at " + c.Admin + ": other machines can change the configuration",
			"use a socket, as the Caddyfile that comes with ringfence does: admin unix/<data folder>/admin.sock|0600",
		}
	}
}

// port examines an address on which a server listens.
func port(ctx context.Context, l Listener, holder string) Finding {
	subject := "port " + l.Address
	var config net.ListenConfig
	probe, err := config.Listen(ctx, "tcp", l.Address)
	if err == nil {
		_ = probe.Close()
		if holder != "" {
			return Finding{subject, Problem, "nobody listens, although the gateway runs (process " + holder + ")", "look into its log, and reload its configuration"}
		}
		return Finding{subject, OK, "it is free for the gateway, which does not run", ""}
	}
	if alive(ctx, l) { // even if this command may not listen: a unit may have given the gateway a right that its user does not have
		return Finding{subject, OK, "a gateway listens", ""}
	}
	return taken(subject, err, holder)
}

// taken says why a port is not free, on which no gateway answers.
func taken(subject string, err error, holder string) Finding {
	if errors.Is(err, fs.ErrPermission) && holder != "" {
		return Finding{
			subject, Warning, "no gateway answers there, although one runs (process " + holder + "); this user may not listen on it",
			"look into the gateway's log; \"ss -ltn\" shows whether anybody listens",
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return Finding{
			subject, Warning, "this user may not listen on it, and nor may a gateway that has no more rights",
			"use a port above 1023, or give the gateway the capability CAP_NET_BIND_SERVICE, as the unit of systemd does that comes with it",
		}
	}
	if holder != "" {
		return Finding{
			subject, Warning, "somebody listens without /healthz: the gateway (process " + holder + "), if its site has no ringfence_health, or another program",
			"see who it is with \"ss -ltnp\"",
		}
	}
	return Finding{
		subject, Problem, "another program listens: " + err.Error(),
		"see who it is with \"ss -ltnp\", and stop it or use another port (RINGFENCE_HTTPS_PORT, RINGFENCE_HELPERS_PORT)",
	}
}

// alive reports whether a gateway answers at an address. It asks nothing that is worth protecting, so any certificate will do. A site that has
// a name is asked for by it, since there is a certificate for no other.
func alive(ctx context.Context, l Listener) bool {
	host, number, err := l.here()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.Scheme+"://"+net.JoinHostPort(cmp.Or(l.Name, host), number)+"/healthz", http.NoBody)
	if err != nil {
		return false
	}
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // see above
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(host, number))
		},
	}}
	response, err := client.Do(r)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// here returns the host and the port by which this machine reaches a listener.
func (l Listener) here() (host, number string, err error) {
	host, number, err = net.SplitHostPort(l.Address)
	if ip, notIP := netip.ParseAddr(host); host == "" || notIP == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return host, number, err
}

func upstream(ctx context.Context, address string) Finding {
	subject := "upstream " + address
	network, to := "tcp", address
	if path, ok := strings.CutPrefix(address, "unix/"); ok {
		network, to = "unix", path
	}
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, network, to)
	if err != nil {
		return Finding{subject, Problem, "it cannot be reached: " + err.Error(), "start the daemon, or correct its address; until then its clients get 502"}
	}
	_ = conn.Close()
	return Finding{subject, OK, "it accepts connections", ""}
}

// manager examines Asterisk's manager interface, and whether Asterisk can run the dialplan, if that is not nil.
func (i Installation) manager(ctx context.Context, dialplan *conf.Dialplan) Finding {
	const subject = "Asterisk"
	o := i.Manager
	if o.Address == "" {
		return Finding{subject, OK, "no manager interface is configured", ""}
	}
	address, encrypted := strings.CutPrefix(o.Address, "tls://")
	if host, _, err := net.SplitHostPort(address); err != nil || !encrypted && !webaddress.Local(host) {
		return Finding{
			subject, Problem, "its manager interface is on another machine, or its address has no port: the secret is not sent there unencrypted",
			"set RINGFENCE_ASTERISK_MANAGER to host:port on this machine, or to tls://host:port",
		}
	}
	o.Timeout = patience
	conn, err := ami.Dial(ctx, o)
	switch {
	case errors.Is(err, ami.ErrLogin):
		return Finding{subject, Problem, err.Error(), "compare RINGFENCE_ASTERISK_USERNAME and RINGFENCE_ASTERISK_SECRET with Asterisk's manager.conf"}
	case err != nil:
		return Finding{subject, Problem, "its manager interface cannot be reached: " + err.Error(), "start Asterisk, and let manager.conf enable it at " + o.Address}
	}
	defer func() { _ = conn.Close() }()
	if lacksRecords(ctx, conn, o.Username) {
		return Finding{
			subject, Warning, "its manager interface at " + o.Address + " accepts the login, and sends no records of calls: the account may not read them",
			"add cdr to read of the account in Asterisk's manager.conf, and run \"asterisk -rx 'manager reload'\"",
		}
	}
	if dialplan != nil {
		has, _ := ami.Command(ctx, conn, "core show applications")
		if lacks := dialplan.Lacks(has); len(lacks) > 0 {
			return Finding{
				subject, Warning, "it has no " + strings.Join(lacks, ", no ") + ": calls that need these applications end there",
				"install and load the modules that bring them (ReceiveFAX: res_fax and res_fax_spandsp); see modules.conf",
			}
		}
	}
	return Finding{subject, OK, "its manager interface at " + o.Address + " accepts the login", ""}
}

// lacksRecords reports whether the account gets no records of calls. Where it may not ask that, nothing is known.
func lacksRecords(ctx context.Context, conn *ami.Conn, username string) bool {
	lines, _ := ami.Command(ctx, conn, "manager show user "+username)
	for _, line := range lines {
		if name, may, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "read perm" {
			return !slices.ContainsFunc(strings.Split(may, ","), func(one string) bool { return slices.Contains([]string{"cdr", "all"}, strings.TrimSpace(one)) })
		}
	}
	return false
}
