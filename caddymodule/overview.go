package caddymodule

import (
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/certificate"
)

// processStart is when this node started.
var processStart = time.Now()

// describeNode describes this process for the overview.
func describeNode() authsvc.Node {
	node := authsvc.Node{Version: Version, StartedAt: processStart}
	if served := certificate.InUse(); len(served) > 0 {
		node.Certificate = &authsvc.Certificate{Names: served[0].Names(), NotAfter: served[0].NotAfter().UTC(), SHA256: served[0].Fingerprint()}
	}
	return node
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
