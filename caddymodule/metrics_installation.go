package caddymodule

import (
	"context"
	"crypto/x509"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringfence/ringfence/caddymodule/certificate"
)

// installationStats exports the state of an installation, and what its authentication service has decided.
type installationStats struct{ app *App }

var (
	databaseUp = prometheus.NewDesc("ringfence_database_up", "1 if the database answers, 0 if it does not.", nil, nil)
	sessions   = prometheus.NewDesc("ringfence_sessions", "Sessions that have not expired, of all tenants and nodes.", nil, nil)
	logins     = prometheus.NewDesc("ringfence_logins_total",
		"Logins that this node has decided, by outcome: succeeded, refused, or throttled, which is refused without a look at the password.", []string{"outcome"}, nil)
	certificateExpiry = prometheus.NewDesc("ringfence_certificate_expiry_timestamp_seconds",
		"When the certificate ends that the sites serve; the earliest end, if there are several.", nil, nil)
	certificateOverdue = prometheus.NewDesc("ringfence_certificate_renewal_overdue_timestamp_seconds",
		"From when on a certificate that the sites serve should have been renewed: when a sixth of its lifetime is left, or two weeks if that is less; "+
			"the earliest, if there are several.", nil, nil)
)

// scrapeTimeout bounds what a scrape asks of the database.
const scrapeTimeout = 2 * time.Second

// Describe implements prometheus.Collector.
func (installationStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseUp, sessions, logins, certificateExpiry, certificateOverdue} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. What the database does not tell is left out.
func (s installationStats) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64) { ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	if s.app.needsDatabase {
		up := 0.0
		if s.app.ready(ctx) == nil {
			up = 1
			if n, err := s.app.engine.auth.LiveSessions(ctx); err == nil {
				gauge(sessions, float64(n))
			}
		}
		gauge(databaseUp, up)
	}
	decided := s.app.engine.auth.Logins()
	for outcome, n := range map[string]uint64{"succeeded": decided.Succeeded, "refused": decided.Refused, "throttled": decided.Throttled} {
		ch <- prometheus.MustNewConstMetric(logins, prometheus.CounterValue, float64(n), outcome)
	}
	if served := certificate.Served(s.app.ctx); len(served) > 0 {
		first := slices.MinFunc(served, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
		gauge(certificateExpiry, float64(first.NotAfter.Unix()))
		gauge(certificateOverdue, float64(overdue(served).Unix()))
	}
}

// overdue returns from when on one of some certificates should have been renewed. Caddy renews one when a third of its lifetime is left, and
// this program a self-signed one much earlier.
func overdue(served []*x509.Certificate) (earliest time.Time) {
	const weeks = 14 * 24 * time.Hour
	for _, leaf := range served {
		from := leaf.NotAfter.Add(-min(leaf.NotAfter.Sub(leaf.NotBefore)/6, weeks))
		if earliest.IsZero() || from.Before(earliest) {
			earliest = from
		}
	}
	return earliest
}
