package caddymodule

import (
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddytls"

	"github.com/ringfence/ringfence/caddymodule/mended/listener"
)

// checkProofs refuses a configuration whose certificate no authority would ever give. Caddy has the proofs of a site's own issuer listen where
// the site is bound, and what listens there knows no network but tcp. Global options know nothing of the site's address
// (docs/certificates.md, A certificate of a public authority).
func checkProofs(ctx caddy.Context) error {
	app, err := ctx.App("tls")
	if err != nil {
		return fmt.Errorf("loading the tls app: %w", err)
	}
	automation := app.(*caddytls.TLS).Automation
	if automation == nil {
		return nil
	}
	for _, policy := range automation.Policies {
		for _, issuer := range policy.Issuers {
			by, ok := issuer.(interface{ GetACMEIssuer() *caddytls.ACMEIssuer })
			if !ok {
				continue
			}
			proofs := by.GetACMEIssuer().Challenges
			if proofs != nil && proofs.DNS == nil && strings.HasPrefix(proofs.BindHost, listener.Network+"/") {
				return fmt.Errorf("no authority could give a certificate for %s: with `bind %s`, set email, acme_ca and acme_ca_root in the global options, and not in the site's tls block",
					strings.Join(policy.Subjects(), ", "), proofs.BindHost)
			}
		}
	}
	return nil
}
