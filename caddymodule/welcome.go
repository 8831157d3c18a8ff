package caddymodule

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/caddymodule/mended/listener"
)

// reportAdministrator tells of the first administrator, once in the life of a database. It shows a generated password only on a terminal:
// other destinations of standard error may be kept.
func (a *App) reportAdministrator(first authsvc.FirstStart) {
	if !first.Created {
		return
	}
	file := filepath.Join(a.Data, "admin-credentials")
	switch {
	case first.Password == "":
		a.log.Info("the first administrator was created", "username", a.AdminUsername)
	case onTerminal():
		fmt.Fprintf(os.Stderr, "\n  The first administrator was created:\n\n      username  %s\n      password  %s\n\n"+
			"  The password is shown this once, and kept in %s\n\n", a.AdminUsername, first.Password, file)
	default:
		a.log.Info("the first administrator was created; the generated password is in the file", "username", a.AdminUsername, "file", file)
	}
}

// started makes this configuration the active one, once all its apps have started.
type started struct{ *App }

// Handle implements caddyevents.Handler. While it runs the old configuration, if there is one, still serves.
func (a started) Handle(context.Context, caddy.Event) error {
	a.engine.auth.UseRequirements(a.requirements)
	a.use()
	if a.reload {
		a.takeOver()
		a.log.Info("reloaded: the new configuration serves now")
	} else {
		a.welcome()
	}
	return nil
}

// use makes the services, which belong to the database and outlive reloads, use what this configuration says. During a reload two configurations share
// them: what the new one says takes effect once all its apps have started.
func (a *App) use() {
	slog.SetDefault(a.log)
	a.engine.auth.UseBackends(a.backends)
	if err := a.engine.auth.UseSettings(a.settings); err != nil {
		a.log.Error("the settings of the authentication service stay as they were", "error", err) // cannot happen: Check accepted them
	}
	a.useHelpers()
	a.useInstallation()
	a.useAsterisk()
}

// PublicAddress returns the public URL, for the certificate, or "" if there is none.
func (a *App) PublicAddress() string { return a.PublicURL }

// takeOver makes this configuration accept all new connections. The old one keeps serving its own for a while: it reads their
// next requests and asks their clients to open new ones, so that all busy connections end, and only idle ones are left to close
// when Caddy stops it.
func (a *App) takeOver() {
	if old, err := caddy.ActiveContext().AppIfConfigured("ringfence"); err == nil {
		old.(*App).leaving.Store(true)
	}
	listener.HandOver(time.Duration(a.HandoverDelay))
}

// welcome tells the user who started the process where to go next.
func (a *App) welcome() {
	database := a.Database
	switch {
	case !a.needsDatabase:
		database = "none"
	case strings.HasPrefix(database, "postgres"):
		database = "PostgreSQL" // the address may hold a password
	}
	places := a.places()
	if !onTerminal() {
		fields := []any{"version", Version, "data", a.Data, "database", database}
		for _, p := range places {
			fields = append(fields, p.name[strings.LastIndexByte(p.name, ' ')+1:], p.url)
		}
		a.log.Info("ringfence is running", fields...)
		return
	}
	fmt.Fprintf(os.Stderr, "\n  Ringfence %s is running.\n\n", Version)
	line := func(name, value string) { fmt.Fprintf(os.Stderr, "      %-12s  %s\n", name, value) }
	for _, p := range places {
		line(p.name, p.url)
	}
	line("data", a.Data)
	line("database", database)
	for _, f := range certificate.Fingerprints() {
		line("certificate", "SHA-256 "+f)
	}
	fmt.Fprintln(os.Stderr)
}

func onTerminal() bool { return term.IsTerminal(int(os.Stderr.Fd())) }

// place is an address that a browser or a tool can open.
type place struct{ name, url string }

// places returns where the handlers of this configuration can be reached from this machine, as far as its listeners tell: at most
// one for each kind and server.
func (a *App) places() []place {
	app, err := a.ctx.AppIfConfigured("http")
	if err != nil {
		return nil
	}
	var out []place
	servers := app.(*caddyhttp.App).Servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		base, ok := address(servers[name])
		if !ok {
			continue
		}
		var found handlers
		found.search(servers[name].Routes)
		switch {
		case found.console:
			out = append(out, place{"API console", base + "console/"})
		case found.gate:
			out = append(out, place{"gateway", base})
		}
		if found.open {
			out = append(out, place{"helpers", base})
		}
	}
	if a.PublicURL != "" {
		out = append(out, place{"public_url", a.PublicURL})
	}
	slices.SortStableFunc(out, func(a, b place) int { return cmp.Compare(a.name, b.name) })
	return slices.Compact(out)
}

// handlers says which of our handlers a server has.
type handlers struct{ console, gate, open bool }

func (h *handlers) search(routes caddyhttp.RouteList) {
	for _, route := range routes {
		for _, handler := range route.Handlers {
			switch handler := handler.(type) {
			case *caddyhttp.Subroute:
				h.search(handler.Routes)
			case *Console:
				h.console = true
			case *Gate:
				h.gate = true
			case *Service:
				h.open = h.open || handler.Open
			}
		}
	}
}

// address returns the URL of a server: its first TCP listener by the name of the first site that has one, which is the only way to it, or as
// localhost if that leads there.
func address(server *caddyhttp.Server) (string, bool) {
	scheme := "http"
	if len(server.TLSConnPolicies) > 0 {
		scheme = "https"
	}
	for _, listen := range server.Listen {
		at, err := caddy.ParseNetworkAddress(listen)
		if err != nil || (at.Network != listener.Network && !strings.HasPrefix(at.Network, "tcp")) {
			continue
		}
		host := at.Host
		if ip := net.ParseIP(host); host == "" || (ip != nil && (ip.IsLoopback() || ip.IsUnspecified())) {
			host = "localhost"
		}
		host = cmp.Or(siteName(server), host)
		if port := strconv.FormatUint(uint64(at.StartPort), 10); port != standardPorts[scheme] {
			return scheme + "://" + net.JoinHostPort(host, port) + "/", true
		}
		return scheme + "://" + host + "/", true
	}
	return "", false
}

var standardPorts = map[string]string{"https": "443", "http": "80"}

// siteName returns the name of the first site of a server that has one, or "".
func siteName(server *caddyhttp.Server) string {
	for _, host := range certificate.Hosts(server.Routes) {
		if !strings.ContainsAny(host, "*{") && net.ParseIP(host) == nil {
			return host
		}
	}
	return ""
}

var _ caddyevents.Handler = started{}
