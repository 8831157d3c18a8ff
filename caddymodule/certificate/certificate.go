package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddytls"
	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"

	"github.com/ringfence/ringfence/caddymodule/mended/logs"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

func init() {
	caddy.RegisterModule(new(SelfSigned))
	caddy.RegisterModule(new(SelfSignedOnly))
	caddy.RegisterModule(new(keeper))
}

// SelfSigned serves this installation's self-signed certificate for every name, and for access by address without a server name.
// The certificate is made when a configuration starts for the first time, and stays the same after restarts and reloads; package
// selfsigned says how long it is valid and when it is renewed. It also names the host of the public URL. Its SHA-256 fingerprint
// is logged once per process, at the start.
type SelfSigned struct {
	// Data is the data folder; the key and the certificate are in its folder "tls". Placeholders are resolved. Default:
	// {env.RINGFENCE_DATA}, else ./data.
	Data string `json:"data,omitempty"`

	shared *shared // set once this configuration has its share
	names  []string
}

// CaddyModule returns the Caddy module information.
func (*SelfSigned) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  selfSignedID,
		New: func() caddy.Module { return new(SelfSigned) },
	}
}

const selfSignedID = "tls.get_certificate.ringfence_self_signed"

// Provision takes a share of the certificate, together with the other configurations and sites on the same folder. It touches no
// file: the certificate is opened when the configuration starts, see keeper.
func (s *SelfSigned) Provision(ctx caddy.Context) error {
	if err := logs.Protect(ctx); err != nil {
		return err
	}
	folder, err := folderOf(s.Data)
	if err != nil {
		return err
	}
	if s.names, err = publicHost(ctx); err != nil {
		return err
	}
	found, _, err := Pool.LoadOrNew(folder, func() (caddy.Destructor, error) { return &shared{folder: folder}, nil })
	if err != nil {
		return fmt.Errorf("sharing the self-signed certificate: %w", err)
	}
	s.shared = found.(*shared)

	app, err := ctx.App(keeperID)
	if err != nil {
		return err
	}
	k := app.(*keeper)
	k.kept = append(k.kept, s)
	return nil
}

// hasPublicURL is an app that knows this gateway's public URL.
type hasPublicURL interface{ PublicAddress() string }

// publicHost returns the host of the public URL, if there is one.
func publicHost(ctx caddy.Context) ([]string, error) {
	app, err := ctx.AppIfConfigured("ringfence")
	switch {
	case err == nil:
		return hostOf(app.(hasPublicURL).PublicAddress()), nil
	case errors.Is(err, caddy.ErrNotConfigured):
		return hostOf(publicURLOfTheEnvironment()), nil
	default:
		return nil, err
	}
}

func publicURLOfTheEnvironment() string {
	return caddy.NewReplacer().ReplaceAll("{env.RINGFENCE_PUBLIC_URL}", "")
}

func hostOf(address string) []string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return nil
	}
	return []string{parsed.Hostname()}
}

// GetCertificate returns the certificate, whatever the client asked for. It reads only memory, except in a handshake that comes
// before the configuration has started completely.
func (s *SelfSigned) GetCertificate(context.Context, *tls.ClientHelloInfo) (*tls.Certificate, error) {
	store := s.shared.store.Load()
	if store == nil {
		var err error
		if store, err = s.open(); err != nil {
			return nil, err
		}
	}
	return store.Certificate(), nil
}

// open opens the certificate, and makes it name the public host.
func (s *SelfSigned) open() (*selfsigned.Store, error) {
	store, err := s.shared.open(s.names)
	if err != nil {
		return nil, fmt.Errorf("opening the self-signed certificate: %w", err)
	}
	return store, nil
}

// Cleanup releases the share. Caddy also calls it after a failed Provision. Handshakes that have begun before still get the certificate.
func (s *SelfSigned) Cleanup() error {
	if s.shared == nil {
		return nil
	}
	_, err := Pool.Delete(s.shared.folder)
	return err
}

const keeperID = "ringfence_certificates"

// keeper is the app that opens the certificates of a configuration when it starts, so that validating opens none, and logs each once per
// process. It needs no configuration.
type keeper struct{ kept []*SelfSigned }

// CaddyModule returns the Caddy module information.
func (*keeper) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: keeperID, New: func() caddy.Module { return new(keeper) }}
}

// Start opens the certificates. It fails if a key cannot be used.
func (k *keeper) Start() error {
	for _, s := range k.kept {
		store, err := s.open()
		if err != nil {
			return err
		}
		if _, known := logged.LoadOrStore(store.Fingerprint(), true); !known {
			caddy.Log().Named(selfSignedID).Info("serving a self-signed certificate: before you accept it in a client, "+
				"compare the SHA-256 fingerprint that the client shows with this one",
				zap.String("fingerprint", store.Fingerprint()), zap.String("valid_until", store.NotAfter().Format(time.DateOnly)),
				zap.String("file", store.Path()))
		}
	}
	return nil
}

// logged holds the fingerprints that this process has logged.
var logged sync.Map

// Stop does nothing: each SelfSigned releases its own share.
func (k *keeper) Stop() error { return nil }

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

// SelfSignedOnly is a permission module for on-demand certificates that never gives permission. A site that serves SelfSigned's
// certificate for any name needs no other certificate. Saying so in the global options keeps Caddy from ever asking a public
// authority for one, and from warning at each start that on-demand TLS has no permission module:
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

// Pool holds the open certificates by absolute folder. A reload provisions the new configuration while the old one still
// serves: both share one entry, and the old one's Cleanup leaves it to the new one.
var Pool = caddy.NewUsagePool()

// shared is the certificate of a folder, opened once.
type shared struct {
	folder string
	store  atomic.Pointer[selfsigned.Store]

	mu    sync.Mutex // held while opening
	names []string
}

func (c *shared) open(names []string) (*selfsigned.Store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	store := c.store.Load()
	if store != nil && !slices.Equal(c.names, names) {
		if err := store.Cover(names); err != nil {
			return nil, err
		}
	}
	if store == nil {
		var err error
		if store, err = selfsigned.Open(c.folder, selfsigned.Options{Names: names, OnReplace: reportReplacement, OnRenew: reportRenewal}); err != nil {
			return nil, err
		}
		c.store.Store(store)
	}
	c.names = names
	return store, nil
}

// Destruct waits for a renewal in progress.
func (c *shared) Destruct() error {
	if store := c.store.Load(); store != nil {
		store.Close()
	}
	return nil
}

// folderOf returns the absolute folder of the certificate below a configured data folder.
func folderOf(data string) (string, error) {
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

// Fingerprints returns the SHA-256 fingerprints of the self-signed certificates in use, for the banner at the start. The list is
// complete once every module is provisioned.
func Fingerprints() []string {
	var fingerprints []string
	for _, store := range InUse() {
		fingerprints = append(fingerprints, store.Fingerprint())
	}
	slices.Sort(fingerprints)
	return fingerprints
}

// InUse returns the self-signed certificates that this process serves, in the order of their folders.
func InUse() []*selfsigned.Store {
	byFolder := map[string]*selfsigned.Store{}
	Pool.Range(func(folder, value any) bool {
		if store := value.(*shared).store.Load(); store != nil {
			byFolder[folder.(string)] = store
		}
		return true
	})
	stores := make([]*selfsigned.Store, 0, len(byFolder))
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		stores = append(stores, byFolder[folder])
	}
	return stores
}

// reportReplacement and reportRenewal use the logger of the configuration that runs now: the one that opened the certificate may
// be gone.
func reportReplacement(r selfsigned.Replacement) {
	log := caddy.Log().Named(selfSignedID)
	fingerprints := []zap.Field{zap.String("old_fingerprint", r.Old), zap.String("new_fingerprint", r.New)}
	if r.Renewal {
		log.Info("renewed the self-signed certificate with the same key", fingerprints...)
		return
	}
	log.Warn("the self-signed certificate "+r.Reason+": a new one is served from now on, and clients must accept it", fingerprints...)
}

func reportRenewal(err error) {
	if err != nil {
		caddy.Log().Named(selfSignedID).Error("the self-signed certificate was not renewed; next try in an hour", zap.Error(err))
	}
}

var (
	_ caddy.Provisioner           = (*SelfSigned)(nil)
	_ caddy.CleanerUpper          = (*SelfSigned)(nil)
	_ caddyfile.Unmarshaler       = (*SelfSigned)(nil)
	_ certmagic.Manager           = (*SelfSigned)(nil)
	_ caddyfile.Unmarshaler       = (*SelfSignedOnly)(nil)
	_ caddytls.OnDemandPermission = (*SelfSignedOnly)(nil)
	_ caddy.App                   = (*keeper)(nil)
)
