package caddymodule

import (
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringfence/ringfence/internal/tokens"
)

// metrics are the process's counters. Every configuration has its own registry; the counters live in the pool and are registered
// with each, so their values survive a reload.
type metrics struct {
	requests *prometheus.CounterVec
	denials  *prometheus.CounterVec
	lag      prometheus.Histogram

	// admitted finds the counters of requests faster than the vector does. The map is never changed, only replaced.
	admitted atomic.Pointer[map[decision]prometheus.Counter]
}

type decision struct{ service, outcome string }

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
	for _, c := range []prometheus.Collector{m.requests, m.denials, m.lag} {
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
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ringfence_revocation_lag_seconds",
			Help:    "From a revocation on one node to its being forgotten on this one.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}),
	}
}

// Decided counts one decision of a gate (gate.Observer).
func (m *metrics) Decided(service, outcome string) {
	switch outcome {
	case "allowed", "public":
		m.counter(decision{service, outcome}).Inc()
	default:
		m.requests.WithLabelValues(service, "denied").Inc()
		m.denials.WithLabelValues(service, outcome).Inc()
	}
}

func (m *metrics) counter(d decision) prometheus.Counter {
	known := m.admitted.Load()
	if known != nil {
		if c, ok := (*known)[d]; ok {
			return c
		}
	}
	c := m.requests.WithLabelValues(d.service, d.outcome)
	grown := map[decision]prometheus.Counter{d: c}
	if known != nil {
		maps.Copy(grown, *known)
	}
	m.admitted.CompareAndSwap(known, &grown) // otherwise the next request does it
	return c
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
