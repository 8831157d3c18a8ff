package caddymodule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/caddymodule/commands"
	"github.com/ringfence/ringfence/helpers"
	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/selfsigned"
	"github.com/ringfence/ringfence/internal/store/open"
)

// backupsOff is the value of the option backups that makes the gateway keep none.
const backupsOff = "off"

// useInstallation makes the helper endpoints look after the installation of this configuration.
func (a *App) useInstallation() {
	i := helpers.Installation{
		Examine: a.examine,
		Backup: func(ctx context.Context, to io.Writer, progress func(done, of int64)) error {
			_, err := backup.Create(ctx, backup.Options{
				Data: a.Data, Database: a.Database, SealingKeys: a.SealingKeys, Program: Version, Progress: progress,
			}, to)
			return err
		},
	}
	if a.Backups != backupsOff {
		i.Backups = backup.Folder(a.Backups)
	}
	a.engine.helpers.UseInstallation(i)
}

// examine looks at the installation of this configuration as the command doctor does.
func (a *App) examine(ctx context.Context) (is helpers.System, err error) {
	text, unknown := runningConfig(adminAddress(a.ctx))
	i, err := commands.Installation(text, a.Data, a.Database)
	if err != nil {
		return is, err
	}
	is = helpers.System{
		Version: Version, StartedAt: processStart.UTC(), Findings: doctor.Examine(ctx, i),
		Certificates: []helpers.Certificate{}, Places: a.keeps(i.Config),
	}
	if unknown != nil {
		a.log.Warn("the configuration that runs cannot be read over the admin API, and is not examined", "error", unknown)
	}
	for _, leaf := range certificate.Served(a.ctx) {
		names := slices.Clone(leaf.DNSNames)
		for _, ip := range leaf.IPAddresses {
			names = append(names, ip.String())
		}
		own := func(s *selfsigned.Store) bool { return s.Certificate().Leaf.Equal(leaf) }
		is.Certificates = append(is.Certificates, helpers.Certificate{
			Names: names, NotAfter: leaf.NotAfter.UTC(), Own: slices.ContainsFunc(certificate.InUse(), own),
		})
	}
	return is, nil
}

// runningConfig returns the configuration that runs, as the admin API at an address has it, or nil if there is no such API.
func runningConfig(admin string) (text []byte, err error) {
	if admin == "" || admin == "off" {
		return nil, errors.New("the admin API is off")
	}
	answer, err := caddycmd.AdminAPIRequest(admin, http.MethodGet, "/config/", nil, nil)
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	return text, nil
}

// keeps returns where this node keeps its things; c may be nil.
func (a *App) keeps(c *doctor.Config) (all []helpers.Place) {
	add := func(what, path string) {
		if whole, err := filepath.Abs(path); err == nil && path != "" {
			all = append(all, helpers.Place{What: what, Where: whole})
		}
	}
	add("data", a.Data)
	if file, ok := strings.CutPrefix(a.Database, open.SQLiteScheme); ok {
		add("database", file)
	} else if at, err := url.Parse(a.Database); err == nil { // without its user and password
		all = append(all, helpers.Place{What: "database", Where: fmt.Sprint(at.Host, at.Path)})
	}
	if a.Backups != backupsOff {
		add("backups", a.Backups)
	}
	if c != nil {
		for _, file := range c.Logs {
			add("log", file)
		}
	}
	if a.Asterisk.live {
		add("asterisk", a.Asterisk.Folder)
		add("asterisk_log", a.Asterisk.Log)
	}
	return all
}

// unserved returns the operations of a service that this installation cannot serve, by their ids, and the values of attributes, as
// "attribute=value": the console does not offer them.
func (a *App) unserved(service string) (ids []string) {
	switch service {
	case "sysconfd":
		if a.Asterisk.Manager == "" {
			ids = append(ids, "read_asterisk")
		}
		if !a.Asterisk.live { // files are made, and nobody reads them
			ids = append(ids, "apply", "go_back")
		}
		if a.Backups == backupsOff {
			ids = append(ids, "list_backups", "make_backup", "download_backup", "delete_backup")
		}
	case "auth":
		if a.Mail == nil {
			ids = append(ids, "request_email_confirmation", "test_mail")
		}
		for _, method := range []string{"ldap", "saml"} {
			serves := func(b authsvc.Backend) bool { m, ok := b.(authsvc.BackendMethod); return ok && m.Method() == method }
			if !slices.ContainsFunc(a.backends, serves) {
				ids = append(ids, "authentication_method="+method, "default_authentication_method="+method)
			}
		}
	}
	return ids
}
