package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// garbageSettings are settings of the garbage collector, as environments of the gateway. Its own setting is first, and the others
// are compared with it.
var garbageSettings = []struct {
	name string
	env  []string
}{
	{"as released", nil},
	{"GOGC=400 under Caddy's limit", []string{"GOGC=400"}},
	{"GOGC=200 under Caddy's limit", []string{"GOGC=200"}},
	{"GOGC=100 under Caddy's limit", []string{"GOGC=100"}},
	{"GOGC=400, GOMEMLIMIT=200MiB", []string{"GOGC=400", "GOMEMLIMIT=200MiB"}},
}

// garbageRows compares the settings: the cost of a request, and the memory that a thousand concurrent logins need.
func (b *bench) garbageRows() ([]row, error) {
	s := new(stage)
	defer s.close()
	upstreamAddress, authAddress, _, err := b.back(s)
	if err != nil {
		return nil, err
	}
	for i, setting := range garbageSettings {
		v, err := b.serveSetting(s, fmt.Sprintf("setting%d", i), setting.env, gatedSites(upstreamAddress, authAddress)[0])
		if err != nil {
			return nil, err
		}
		v.name = setting.name
		s.variants = append(s.variants, v)
	}
	p := plan{rounds: 15, requests: 6000, connections: 16}
	if b.quick {
		p.rounds = 7
	}
	found, err := measure(s.generator, s.variants, p)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, setting := range garbageSettings[1:] {
		rows = append(rows, ratioRow("CPU of gate + reverse_proxy: "+setting.name+" / "+garbageSettings[0].name, found, setting.name, garbageSettings[0].name, 0))
	}
	s.close()
	s.processes = nil
	logins, err := b.garbageLogins()
	return append(rows, logins...), err
}

// serveSetting starts a gateway with one site.
func (b *bench) serveSetting(s *stage, name string, env []string, one site) (variant, error) {
	ports, err := freeAddresses(1)
	if err != nil {
		return variant{}, err
	}
	data := filepath.Join(b.folder, name)
	app := "\t\tdata " + data + "\n\t\ttokens bench " + b.tokenFile + "\n"
	config, err := write(b.folder, name+".caddyfile", caddyConfig(app, "off", b.certificate, []site{one}, ports))
	if err != nil {
		return variant{}, err
	}
	p, err := s.start(ports[0], "the gateway", append([]string{"RINGFENCE_DATA=" + data}, env...), b.self, roleGateway, "--config", config, "--adapter", "caddyfile")
	return variant{address: ports[0], paths: one.paths, counted: []*process{p}}, err
}

func (b *bench) garbageLogins() (rows []row, err error) {
	server := os.Getenv(dsnVariable)
	if server == "" {
		return []row{{"memory by setting of the garbage collector", dsnVariable + " is not set: run `make bench`", "", skipped}}, nil
	}
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	for i, setting := range garbageSettings {
		found, err := b.loginsUnder(release, server, fmt.Sprintf("garbage%d", i), setting.env)
		for _, r := range found {
			r.what, r.budget, r.verdict = setting.name+": "+r.what, "", noBudget
			rows = append(rows, r)
		}
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) loginsUnder(release, server, name string, env []string) (rows []row, err error) {
	ctx := context.Background()
	t, err := b.newTown(ctx, release, server, name, env...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.settle(ctx, manyLogins*tokensEach, 1); err != nil {
		return nil, err
	}
	return t.loginRows()
}
