package caddymodule

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringfence/ringfence/caddymodule/certificate"
	"github.com/ringfence/ringfence/internal/tokens"
)

// metrics are the process's counters. Every configuration has its own registry; the counters live in the pool and are registered
// with each, so their values survive a reload.
type metrics struct {
	requests *prometheus.CounterVec
	denials  *prometheus.CounterVec
	duration *prometheus.HistogramVec
	lag      prometheus.Histogram
	// unreadable are records of calls that could not be read.
	unreadable prometheus.Counter

	admitted known[prometheus.Counter]
	answered known[prometheus.Observer]
}

// series is one series of a vector with two labels: a service, and an outcome or a class of statuses.
type series struct{ service, value string }

// known finds the series of a vector faster than the vector does. The map is never changed, only replaced.
type known[T any] struct{ atomic.Pointer[map[series]T] }

func (k *known[T]) get(s series, from func(labels ...string) T) T {
	found := k.Load()
	if found != nil {
		if m, ok := (*found)[s]; ok {
			return m
		}
	}
	m := from(s.service, s.value)
	grown := map[series]T{s: m}
	if found != nil {
		maps.Copy(grown, *found)
	}
	k.CompareAndSwap(found, &grown) // otherwise the next request does it
	return m
}

var metricsPool = caddy.NewUsagePool()

const metricsKey = "metrics"

// useMetrics takes a share of the counters; release releases it.
func useMetrics() (*metrics, error) {
	value, _, err := metricsPool.LoadOrNew(metricsKey, func() (caddy.Destructor, error) { return newMetrics(), nil })
	if err != nil {
		return nil, err
	}
	return value.(*metrics), nil
}

// register adds the counters to a configuration's registry.
func (m *metrics) register(registry *prometheus.Registry) error {
	for _, c := range []prometheus.Collector{m.requests, m.denials, m.duration, m.lag, m.unreadable} {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return nil
}

func (m *metrics) release() error {
	_, err := metricsPool.Delete(metricsKey)
	return err
}

func newMetrics() *metrics {
	return &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringfence_gate_requests_total",
			Help: "Requests that met a gate, by service and outcome: allowed, public or denied.",
		}, []string{"service", "outcome"}),
		denials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringfence_gate_denials_total",
			Help: "Requests that a gate refused, by service and reason.",
		}, []string{"service", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ringfence_gate_request_duration_seconds",
			Help:    "From the request's arrival at a gate to the beginning of its response, by service and class of the status: 2xx.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"service", "status"}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ringfence_revocation_lag_seconds",
			Help:    "From a revocation on one node to its being forgotten on this one.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}),
		unreadable: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringfence_call_records_unreadable_total",
			Help: "What Asterisk sent or wrote as a record of a call, and could not be read.",
		}),
	}
}

// Decided counts one decision of a gate (gate.Observer).
func (m *metrics) Decided(service, outcome string) {
	switch outcome {
	case "allowed", "public":
		m.admitted.get(series{service, outcome}, m.requests.WithLabelValues).Inc()
	default:
		m.requests.WithLabelValues(service, "denied").Inc()
		m.denials.WithLabelValues(service, outcome).Inc()
	}
}

var statusClasses = [...]string{"other", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Answered counts one response and its latency (gate.Observer).
func (m *metrics) Answered(service string, status int, took time.Duration) {
	class := statusClasses[0]
	if i := status / 100; i > 0 && i < len(statusClasses) {
		class = statusClasses[i]
	}
	m.answered.get(series{service, class}, m.duration.WithLabelValues).Observe(took.Seconds())
}

// lagged records how late another node's revocation arrived.
func (m *metrics) lagged(d time.Duration) { m.lag.Observe(d.Seconds()) }

// Destruct does nothing: no configuration shows the counters any more.
func (m *metrics) Destruct() error { return nil }

var cacheCounters = []struct {
	desc *prometheus.Desc
	read func(s tokens.Stats) uint64
}{
	{counterDesc("hits_total", "Tokens answered from the cache."), func(s tokens.Stats) uint64 { return s.Hits }},
	{counterDesc("misses_total", "Tokens that were not in the cache."), func(s tokens.Stats) uint64 { return s.Misses }},
	{counterDesc("lookups_total", "Look-ups at the token source."), func(s tokens.Stats) uint64 { return s.Loads }},
	{counterDesc("lookup_errors_total", "Look-ups that the token source could not answer."), func(s tokens.Stats) uint64 { return s.LoadErrors }},
	{counterDesc("unknown_total", "Look-ups of tokens that the source does not know."), func(s tokens.Stats) uint64 { return s.Unknown }},
	{counterDesc("throttled_total", "Look-ups refused because too many unknown tokens were tried."), func(s tokens.Stats) uint64 { return s.Throttled }},
	{counterDesc("forgets_total", "Revocations and changes that were heard of."), func(s tokens.Stats) uint64 { return s.Forgets }},
}

func counterDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("ringfence_token_cache_"+name, help, nil, nil)
}

// cacheStats exports the counters of a token cache, which outlives a reload as its source does. Each configuration exports the
// cache that its gates ask.
type cacheStats struct{ cache *tokens.Cache }

// Describe implements prometheus.Collector.
func (cacheStats) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range cacheCounters {
		ch <- c.desc
	}
}

// Collect implements prometheus.Collector.
func (c cacheStats) Collect(ch chan<- prometheus.Metric) {
	stats := c.cache.Stats()
	for _, n := range cacheCounters {
		ch <- prometheus.MustNewConstMetric(n.desc, prometheus.CounterValue, float64(n.read(stats)))
	}
}

// observer counts what the gates decide and respond for the metrics, and the denials also for the overview.
type observer struct{ engine *engine }

// Answered implements gate.Observer.
func (o observer) Answered(service string, status int, took time.Duration) {
	o.engine.metrics.Answered(service, status, took)
}

// Decided implements gate.Observer.
func (o observer) Decided(service, outcome string) {
	o.engine.metrics.Decided(service, outcome)
	switch outcome {
	case "allowed", "public", "preflight":
	default:
		o.engine.auth.Denied(outcome)
	}
}

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
