package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"

	"github.com/google/uuid"
)

// What a decision cost before the token went before the identity came: recorded then, with the same benchmark.
const allocationsOfDecisionBefore = 8

// headerFinding is what the gate's headers cost a request, in nanoseconds that come on top of the same request without the gate.
type headerFinding struct {
	// Sent is how many headers the client sends, Kept how many there are behind the gate.
	Sent int `json:"sent"`
	Kept int `json:"kept"`
	// Fill is for having them in the map, Clone for the copy that a proxy makes and adds its own to, Write for sorting and writing that.
	Fill  float64 `json:"fill"`
	Clone float64 `json:"clone"`
	Write float64 `json:"write"`
}

// headers is the role that measures what the headers cost that the gate adds.
func headers(_ []string, out io.Writer) error {
	sent := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"ringfence-bench/1.0"}, "X-Auth-Token": {uuid.NewString()},
	}
	identity := http.Header{
		"X-Ringfence-User": {uuid.NewString()}, "X-Ringfence-Tenant": {benchTenant}, "X-Request-Id": {uuid.NewString()},
	}
	var found []headerFinding
	for _, extra := range []string{"", "Accept-Language"} {
		if extra != "" {
			sent[extra] = []string{"en"}
		}
		f, err := measureHeaders(sent, identity)
		if err != nil {
			return err
		}
		found = append(found, f)
	}
	return json.NewEncoder(out).Encode(found)
}

func measureHeaders(sent, identity http.Header) (f headerFinding, err error) {
	plain := func() http.Header {
		h := make(http.Header, len(sent))
		maps.Copy(h, sent)
		return h
	}
	gated := func() http.Header {
		h := plain()
		delete(h, "X-Auth-Token")
		maps.Copy(h, identity)
		return h
	}
	proxied := func(h http.Header) http.Header {
		h = h.Clone()
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Via"} {
			h[name] = []string{"192.0.2.1"}
		}
		return h
	}
	to := bufio.NewWriter(io.Discard)
	f.Sent, f.Kept = len(sent), len(gated())
	for _, part := range []struct {
		more          *float64
		with, without func()
	}{
		{&f.Fill, func() { gated() }, func() { plain() }},
		{&f.Clone, calling(proxied, gated()), calling(proxied, plain())},
		{&f.Write, writing(to, proxied(gated())), writing(to, proxied(plain()))},
	} {
		with, err := perCall(part.with)
		if err != nil {
			return f, err
		}
		without, err := perCall(part.without)
		if err != nil {
			return f, err
		}
		*part.more = median(with) - median(without)
	}
	return f, nil
}

func calling(copied func(http.Header) http.Header, h http.Header) func() { return func() { copied(h) } }

func writing(to io.Writer, h http.Header) func() {
	return func() { _ = h.Write(to) } // to a writer that takes everything
}

// gatePartRows are the parts of what the gate adds: its decision, and what its headers cost those who copy and write them.
func (b *bench) gatePartRows() ([]row, error) {
	long, runs := "200000x", 5
	if b.quick {
		long, runs = "50000x", 3
	}
	decisions, err := runBenchmarks("./internal/gate", "^BenchmarkAdmit", long, runs)
	if err != nil {
		return nil, err
	}
	const four, service = "AdmitFourHeaders", "Admit/service"
	allocations, _ := decisions.of(four, "allocs/op")
	more, _ := decisions.of(service, "allocs/op")
	rows := []row{{
		what: "of that, a decision for an upstream: allocations / recorded before",
		measured: fmt.Sprintf("%.2f x: %.0f against %d, %s; for a service of ours %.0f, %s", allocations/allocationsOfDecisionBefore, allocations,
			allocationsOfDecisionBefore, micros(decisions.took(four)), more, micros(decisions.took(service))),
		budget: "1.00 x", verdict: judge(allocations <= allocationsOfDecisionBefore),
	}}
	out, err := exec.Command(b.self, roleHeaders, "").Output()
	if err != nil {
		return rows, fmt.Errorf("measuring headers: %w", err)
	}
	var found []headerFinding
	if err := json.Unmarshal(out, &found); err != nil {
		return rows, err
	}
	for _, f := range found {
		rows = append(rows, row{
			what:     fmt.Sprintf("of that, the gate's three headers, when the client sends %d: %d in the map, which is small up to 8", f.Sent, f.Kept),
			measured: fmt.Sprintf("%.2f µs to fill the map, and in a proxy %.2f µs to clone it, %.2f µs to sort and write it", f.Fill/1000, f.Clone/1000, f.Write/1000),
		})
	}
	return rows, nil
}
