package proxy

import (
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// facts are the placeholders of one request, as reverse_proxy has them.
type facts struct {
	*short
	began, came, ended time.Time // came: when the answer's header did
	answer             *http.Response
}

func (f *facts) placeholder(key string) (any, bool) {
	name, ok := strings.CutPrefix(key, "http.reverse_proxy.")
	if !ok {
		return nil, false
	}
	switch name {
	case "upstream.address":
		return caddy.JoinNetworkAddress(f.at.Network, f.at.Host, f.port), true
	case "upstream.hostport":
		return f.address, true
	case "upstream.host":
		return f.at.Host, true
	case "upstream.port":
		return f.port, true
	case "upstream.requests", "upstream.max_requests", "upstream.fails": // nothing is counted
		return 0, true
	case "retries": // nothing is tried again
		return 0, !f.ended.IsZero()
	case "upstream.latency":
		return since(f.began, f.came)
	case "upstream.latency_ms":
		return milliseconds(f.began, f.came)
	case "duration":
		return since(f.began, f.ended)
	case "duration_ms":
		return milliseconds(f.began, f.ended)
	}
	if f.answer == nil {
		return nil, false
	}
	switch name {
	case "status_code":
		return f.answer.StatusCode, true
	case "upstream.duration":
		return since(f.began, f.ended)
	case "upstream.duration_ms":
		return milliseconds(f.began, f.ended)
	case "status_text":
		return f.answer.Status, true
	}
	if name, ok = strings.CutPrefix(name, "header."); ok {
		if values, ok := f.answer.Header[name]; ok {
			return strings.Join(values, ","), true
		}
	}
	return nil, false
}

func since(began, ended time.Time) (any, bool) {
	return ended.Sub(began), !ended.IsZero()
}

func milliseconds(began, ended time.Time) (any, bool) {
	return ended.Sub(began).Seconds() * 1e3, !ended.IsZero()
}
