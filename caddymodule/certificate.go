package caddymodule

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyevents"
	"github.com/caddyserver/caddy/v2/modules/caddytls"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/ringfence/ringfence/internal/selfsigned"
)

func init() {
	caddy.RegisterModule(new(SelfSigned))
	caddy.RegisterModule(new(SelfSignedOnly))
}

// SelfSigned serves this installation's self-signed certificate for every name, and for access by address without a
// server name. The certificate is made when the configuration is provisioned for the first time, `ringfence validate`
// included, and stays the same after restarts and reloads: package selfsigned says how long and when it is renewed.
// Its SHA-256 fingerprint is logged once per process, after the start.
type SelfSigned struct {
	// Data is the data folder; the key and the certificate are in its folder "tls". Placeholders are resolved.
	// Default: {env.RINGFENCE_DATA}, else ./data.
	Data string `json:"data,omitempty"`

	folder string // the pool's key, set once the share is ours
	store  *selfsigned.Store
}

// CaddyModule returns the Caddy module information.
func (*SelfSigned) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  selfSignedID,
		New: func() caddy.Module { return new(SelfSigned) },
	}
}

const selfSignedID = "tls.get_certificate.ringfence_self_signed"

// Provision opens the certificate, sharing it with the other configurations and sites on the same folder.
func (s *SelfSigned) Provision(ctx caddy.Context) error {
	if err := protectLogs(ctx); err != nil {
		return err
	}
	folder, err := certificateFolder(s.Data)
	if err != nil {
		return err
	}
	shared, _, err := certificates.LoadOrNew(folder, func() (caddy.Destructor, error) {
		var (
			store *selfsigned.Store
			err   error
		)
		store, err = selfsigned.Open(folder, selfsigned.Options{OnRenew: func(err error) { reportRenewal(store, err) }})
		if err != nil {
			return nil, err
		}
		return sharedCertificate{store}, nil
	})
	if err != nil {
		return fmt.Errorf("opening the self-signed certificate: %w", err)
	}
	s.folder, s.store = folder, shared.(sharedCertificate).Store

	events, err := ctx.App("events")
	if err != nil {
		return fmt.Errorf("loading events app: %w", err)
	}
	return events.(*caddyevents.App).On("started", announcement{s.store})
}

// GetCertificate returns the certificate, whatever the client asked for. It reads memory only.
func (s *SelfSigned) GetCertificate(context.Context, *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.store.Certificate(), nil
}

// Cleanup gives the share back. Caddy also calls it after a Provision that failed.
func (s *SelfSigned) Cleanup() error {
	if s.folder == "" {
		return nil
	}
	_, err := certificates.Delete(s.folder)
	s.folder = ""
	return err
}

// UnmarshalCaddyfile sets up the module from Caddyfile tokens. Syntax:
//
//	get_certificate ringfence_self_signed {
//	    data <folder>
//	}
func (s *SelfSigned) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "data":
			if s.Data != "" {
				return d.Err("data is given twice")
			}
			if !d.AllArgs(&s.Data) {
				return d.ArgErr()
			}
		default:
			return d.Errf("unrecognized option %q", d.Val())
		}
	}
	return nil
}

// SelfSignedOnly is the permission module for on-demand certificates that never gives permission. A site for any name
// whose certificate comes from SelfSigned needs no other certificate; saying so in the global options keeps Caddy from
// ever asking a public authority for one, and from warning at each start that nobody was named to be asked:
//
//	on_demand_tls {
//	    permission ringfence_self_signed
//	}
type SelfSignedOnly struct{}

// CaddyModule returns the Caddy module information.
func (*SelfSignedOnly) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tls.permission.ringfence_self_signed",
		New: func() caddy.Module { return new(SelfSignedOnly) },
	}
}

// CertificateAllowed refuses every name.
func (*SelfSignedOnly) CertificateAllowed(context.Context, string) error {
	return fmt.Errorf("%w: this gateway serves its self-signed certificate only", caddytls.ErrPermissionDenied)
}

// UnmarshalCaddyfile sets up the module from Caddyfile tokens. It takes no options.
func (*SelfSignedOnly) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module's name
	if d.NextArg() || d.NextBlock(0) {
		return d.ArgErr()
	}
	return nil
}

// certificates holds the open certificates by absolute folder. A reload provisions the new configuration while the old
// one still serves: both share one entry, and the old one's Cleanup leaves it to the new one.
var certificates = caddy.NewUsagePool()

type sharedCertificate struct{ *selfsigned.Store }

// Destruct waits for a renewal that is under way.
func (c sharedCertificate) Destruct() error {
	c.Close()
	return nil
}

// certificateFolder is the absolute folder of the certificate below a configured data folder.
func certificateFolder(data string) (string, error) {
	replacer := caddy.NewReplacer()
	if data == "" {
		data = replacer.ReplaceAll("{env.RINGFENCE_DATA}", "")
		if data == "" {
			data = "data"
		}
	}
	data, err := replacer.ReplaceOrErr(data, true, true)
	if err != nil {
		return "", fmt.Errorf("resolving the data folder: %w", err)
	}
	folder, err := filepath.Abs(filepath.Join(data, "tls"))
	if err != nil {
		return "", fmt.Errorf("finding the data folder: %w", err)
	}
	return folder, nil
}

// certificateFingerprints lists the SHA-256 fingerprints of the self-signed certificates in use, for the banner that
// is shown at the start. It is complete once every module is provisioned.
func certificateFingerprints() []string {
	var fingerprints []string
	certificates.Range(func(_, shared any) bool {
		fingerprints = append(fingerprints, shared.(sharedCertificate).Fingerprint())
		return true
	})
	slices.Sort(fingerprints)
	return fingerprints
}

// announced holds the fingerprints that this process has logged.
var announced sync.Map

// announcement logs a certificate once the configuration runs, and nothing when it is only validated.
type announcement struct{ store *selfsigned.Store }

func (a announcement) Handle(context.Context, caddy.Event) error {
	if _, known := announced.LoadOrStore(a.store.Fingerprint(), true); !known {
		logCertificate("serving a self-signed certificate: before you accept it in a client, "+
			"compare the SHA-256 fingerprint that the client shows with this one", a.store)
	}
	return nil
}

// reportRenewal logs to the configuration that runs now: the one that opened the certificate may be gone.
func reportRenewal(store *selfsigned.Store, err error) {
	if err != nil {
		caddy.Log().Named(selfSignedID).Error("the self-signed certificate was not renewed; next try in an hour", zap.Error(err))
		return
	}
	announced.Store(store.Fingerprint(), true)
	logCertificate("renewed the self-signed certificate with the same key", store)
}

func logCertificate(message string, store *selfsigned.Store) {
	caddy.Log().Named(selfSignedID).Info(message,
		zap.String("fingerprint", store.Fingerprint()),
		zap.String("valid_until", store.NotAfter().Format(time.DateOnly)),
		zap.String("file", store.Path()))
}

var (
	_ caddy.Provisioner           = (*SelfSigned)(nil)
	_ caddy.CleanerUpper          = (*SelfSigned)(nil)
	_ caddyfile.Unmarshaler       = (*SelfSigned)(nil)
	_ certmagic.Manager           = (*SelfSigned)(nil)
	_ caddyfile.Unmarshaler       = (*SelfSignedOnly)(nil)
	_ caddytls.OnDemandPermission = (*SelfSignedOnly)(nil)
	_ caddyevents.Handler         = announcement{}
)
