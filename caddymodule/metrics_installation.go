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
)

// scrapeTimeout bounds what a scrape asks of the database.
const scrapeTimeout = 2 * time.Second

// Describe implements prometheus.Collector.
func (installationStats) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{databaseUp, sessions, logins, certificateExpiry} {
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
	}
}
