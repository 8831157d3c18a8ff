package main

import (
	"fmt"
	"path/filepath"
	"slices"
)

// stage holds the processes that run while the gate is measured.
type stage struct {
	processes []*process
	generator *generator
	variants  []variant
	gateway   *process
	// admin is the socket of the gateway's admin API.
	admin string
}

func (s *stage) close() {
	for _, p := range s.processes {
		p.stop()
	}
}

func (s *stage) start(address, name string, env []string, program string, arguments ...string) (*process, error) {
	p, err := start(name, env, program, arguments...)
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, p)
	return p, p.listening(address)
}

// back starts the load generator, the upstream and the authorization server.
func (b *bench) back(s *stage) (upstreamAddress, authAddress string, authorization *process, err error) {
	ports, err := freeAddresses(2)
	if err != nil {
		return "", "", nil, err
	}
	if _, err := s.start(ports[0], "the upstream", nil, b.self, roleUpstream, ports[0]); err != nil {
		return "", "", nil, err
	}
	authorization, err = s.start(ports[1], "the authorization server", nil, b.self, roleAuthorize, ports[1], b.tokenFile)
	if err != nil {
		return "", "", nil, err
	}
	if s.generator, err = startGenerator(b.self, b.tokenFile); err != nil {
		return "", "", nil, err
	}
	s.processes = append(s.processes, s.generator.process)
	return ports[0], ports[1], authorization, nil
}

// serveGated starts the gateway with the given sites.
func (b *bench) serveGated(s *stage, program string, sites []site) ([]variant, error) {
	ports, err := freeAddresses(len(sites))
	if err != nil {
		return nil, err
	}
	data := filepath.Join(b.folder, "gateway")
	s.admin = filepath.Join(b.folder, "admin.sock")
	app := "\t\tdata " + data + "\n\t\ttokens bench " + b.tokenFile + "\n"
	config, err := write(b.folder, "gateway.caddyfile", caddyConfig(app, "unix/"+s.admin+"|0600", b.certificate, sites, ports))
	if err != nil {
		return nil, err
	}
	s.gateway, err = s.start(ports[0], "the gateway", []string{"RINGFENCE_DATA=" + data}, program, roleGateway, "--config", config, "--adapter", "caddyfile")
	if err != nil {
		return nil, err
	}
	var variants []variant
	for i, site := range sites {
		variants = append(variants, variant{name: site.name, address: ports[i], paths: site.paths, counted: []*process{s.gateway}})
	}
	return variants, nil
}

func (b *bench) serveStock(s *stage, upstreamAddress string) ([]variant, error) {
	program, err := b.build("./internal/bench/stockcaddy", false)
	if err != nil {
		return nil, err
	}
	sites := plainSites(upstreamAddress)
	ports, err := freeAddresses(len(sites))
	if err != nil {
		return nil, err
	}
	config, err := write(b.folder, "stock.caddyfile", caddyConfig("", "off", b.certificate, sites, ports))
	if err != nil {
		return nil, err
	}
	p, err := s.start(ports[0], "stock Caddy", nil, program, "run", "--config", config, "--adapter", "caddyfile")
	if err != nil {
		return nil, err
	}
	var variants []variant
	for i, site := range sites {
		variants = append(variants, variant{name: site.name, address: ports[i], paths: site.paths, counted: []*process{p}})
	}
	return variants, nil
}

func (b *bench) gateRows() ([]row, error) {
	s := new(stage)
	defer s.close()
	upstreamAddress, authAddress, authorization, err := b.back(s)
	if err != nil {
		return nil, err
	}
	sites, err := b.serveGated(s, b.self, gatedSites(upstreamAddress))
	if err != nil {
		return nil, err
	}
	gated, err := byName(sites, gatedProxy, "reverse_proxy", gatedShort, "ringfence_proxy")
	if err != nil {
		return nil, err
	}
	stock, err := b.serveStock(s, upstreamAddress)
	if err != nil {
		return nil, err
	}
	nginx, err := b.serveNginx(s, upstreamAddress, authAddress, authorization)
	if err != nil {
		return nil, err
	}
	s.variants = slices.Concat(gated, stock, nginx)

	// A round lasts for several garbage collections: the cost of a shorter one would depend on how many fall into it.
	p := plan{rounds: 21, requests: 8000, connections: 16}
	if b.quick {
		p = plan{rounds: 9, requests: 1000, connections: 16}
	}
	found, err := measure(s.generator, s.variants, p)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.gateway.log)
	}
	rows := []row{
		ratioRow("release build, gated, ringfence_proxy / stock Caddy, ungated reverse_proxy", found, gatedShort, "stock: reverse_proxy", 0.55),
		ratioRow("gate + ringfence_proxy / nginx auth_request (Debian: nginx-core), its server counted", found, gatedShort, nginxVariant, 0.90),
		ratioRow("gate + reverse_proxy / reverse_proxy, same process", found, gatedProxy, "reverse_proxy", 1.12),
		ratioRow("ringfence_proxy / reverse_proxy, both ungated: what caddymodule/mended/proxy and transport are for", found, "ringfence_proxy", "reverse_proxy", 0),
	}
	late, err := b.latencyRow(s)
	return append(rows, late), err
}

// latencyRow compares how long the slowest hundredth of the requests takes, under 32 connections that ask without a pause.
func (b *bench) latencyRow(s *stage) (row, error) {
	compared, err := byName(s.variants, gatedShort, "stock: reverse_proxy")
	if err != nil {
		return row{}, err
	}
	rounds, requests := 21, 20_000
	if b.quick {
		rounds, requests = 5, 5000
	}
	found := samples{}
	for round := range rounds {
		for i := range compared {
			v := compared[(round+i)%len(compared)]
			f, err := s.generator.run(job{Address: v.address, Paths: v.paths, Requests: requests, Connections: 32, Timed: true})
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", v.name, err)
			}
			found[v.name] = append(found[v.name], f.P99)
		}
	}
	return ratioRow("p99 under 32 connections (wall clock): release build, gated, ringfence_proxy / stock Caddy, ungated reverse_proxy",
		found, gatedShort, "stock: reverse_proxy", 0.75), nil
}
