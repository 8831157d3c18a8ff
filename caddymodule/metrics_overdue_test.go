package caddymodule_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/ringfence/ringfence/caddymodule"
)

// A certificate that lives for days is not overdue because it ends in days, and it hides none that lives for a year and is.
func TestCertificateIsOverdueByItsLifetime(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	lives := func(since, left time.Duration) *x509.Certificate {
		return &x509.Certificate{NotBefore: now.Add(-since), NotAfter: now.Add(left)}
	}
	for name, test := range map[string]struct {
		served  []*x509.Certificate
		overdue bool
	}{
		"new, of six days":                      {[]*x509.Certificate{lives(0, 6*day)}, false},
		"of six days, when Caddy renews it":     {[]*x509.Certificate{lives(4*day, 2*day)}, false},
		"of six days, with half a day left":     {[]*x509.Certificate{lives(132*time.Hour, 12*time.Hour)}, true},
		"of 90 days, when Caddy renews it":      {[]*x509.Certificate{lives(60*day, 30*day)}, false},
		"of 90 days, with 13 left":              {[]*x509.Certificate{lives(77*day, 13*day)}, true},
		"of a year, with 15 left":               {[]*x509.Certificate{lives(350*day, 15*day)}, false},
		"of a year, with 13 left":               {[]*x509.Certificate{lives(352*day, 13*day)}, true},
		"of a year, beside one of six days":     {[]*x509.Certificate{lives(0, 6*day), lives(352*day, 13*day)}, true},
		"of six days, beside a year of its own": {[]*x509.Certificate{lives(day, 5*day), lives(0, 365*day)}, false},
		"ended":                                 {[]*x509.Certificate{lives(7*day, -day)}, true},
	} {
		if from := caddymodule.Overdue(test.served); now.After(from) != test.overdue {
			t.Errorf("%s: overdue from %s on", name, from.Sub(now))
		}
	}
}
