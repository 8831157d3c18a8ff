package main

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed testdata/tokenserver.py
var pythonServer string

// checkTokens is how many tokens are checked in turn: few enough for each check to find its token in the cache.
const checkTokens = 1000

// Whose checks are measured.
const (
	ours  = "ringfence"
	plain = "the least in Python (its standard library)"
	stack = "a service in Python (Flask, SQLAlchemy, Cheroot)"
)

// checkRows measures the requests of daemons that check their callers' tokens: HEAD /token/{token}?scope=..., which uses the
// cache, and GET, which reads the token's record from the database. Ours is the release binary as `make run` starts it, on
// SQLite; the services in Python, testdata/tokenserver.py, read a copy of the same database.
func (b *bench) checkRows(release string) ([]row, error) {
	s := new(stage)
	defer s.close()
	tokenFile, err := b.someTokens()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(b.folder, "checks")
	if err := fillDatabase(context.Background(), data, tokenFile); err != nil {
		return nil, fmt.Errorf("filling the database: %w", err)
	}
	python, missing, err := b.servePython(s, filepath.Join(data, "ringfence.db"))
	if err != nil {
		return nil, err
	}
	gateway, err := b.startNode(release, data, "")
	if err != nil {
		return nil, err
	}
	s.processes = append(s.processes, gateway.process)
	if err := gateway.answers("/readyz"); err != nil {
		return nil, err
	}
	if s.generator, err = startGenerator(b.self, tokenFile); err != nil {
		return nil, err
	}
	s.processes = append(s.processes, s.generator.process)

	variants := checks(ours, gateway.address(), "/api/auth/0.1/token/", gateway.process)
	for _, p := range python {
		variants = append(variants, checks(p.name, p.address, "/token/", p.process)...)
	}
	p := plan{rounds: 21, requests: 1000, connections: 16}
	if b.quick {
		p.rounds, p.requests = 5, 400
	}
	found, err := measure(s.generator, variants, p)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, gateway.log)
	}
	rows := []row{
		perSecondRow("token check with a scope (HEAD, from the cache)", found[scoped(ours)]),
		perSecondRow("token check with its record (GET, from SQLite)", found[recorded(ours)]),
	}
	for _, who := range []string{stack, plain} {
		least := 0.0
		if who == stack {
			least = 20
		}
		rows = append(rows,
			timesRow("token check with a scope: "+who+" / ours", found, scoped(who), scoped(ours), least, missing[who]),
			timesRow("token check with its record: "+who+" / ours", found, recorded(who), recorded(ours), 0, missing[who]))
	}
	return rows, nil
}

func scoped(who string) string   { return who + ": HEAD with a scope" }
func recorded(who string) string { return who + ": GET" }

// checks returns both ways to ask a service.
func checks(who, address, path string, p *process) []variant {
	counted := []*process{p}
	return []variant{
		{name: scoped(who), address: address, method: "HEAD", paths: []string{path + tokenHole + "?scope=bench.users.17.lines.read"}, counted: counted},
		{name: recorded(who), address: address, paths: []string{path + tokenHole}, counted: counted},
	}
}

// someTokens writes a file with the first of the run's tokens.
func (b *bench) someTokens() (string, error) {
	all, err := readTokens(b.tokenFile)
	if err != nil {
		return "", err
	}
	return write(b.folder, "some-tokens", strings.Join(all[:checkTokens], "\n"))
}

// pythonService is one of the services in Python.
type pythonService struct {
	*process
	address string
}

// servePython starts the services that this machine can run, and says why the others are missing.
func (b *bench) servePython(s *stage, database string) (services []pythonService, missing map[string]string, err error) {
	missing = map[string]string{}
	script, err := write(b.folder, "tokenserver.py", pythonServer)
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(database)
	if err != nil {
		return nil, nil, err
	}
	copied, err := write(b.folder, "python.db", string(text))
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range []struct{ name, argument, imports string }{
		{plain, "plain", "sqlite3, ssl"}, {stack, "stack", "sqlite3, ssl, flask, sqlalchemy, cheroot"},
	} {
		program := pythonWith(kind.imports)
		if program == "" {
			missing[kind.name] = "there is no python3 with the modules " + kind.imports
			continue
		}
		ports, err := freeAddresses(1)
		if err != nil {
			return nil, nil, err
		}
		_, port, err := net.SplitHostPort(ports[0])
		if err != nil {
			return nil, nil, err
		}
		p, err := s.start(ports[0], kind.name, nil, program, script, kind.argument, port, copied, b.certificate+".pem", b.certificate+".key")
		if err != nil {
			return nil, nil, err
		}
		services = append(services, pythonService{p, ports[0]})
	}
	return services, missing, nil
}

// pythonWith returns a Python that has these modules, or "".
func pythonWith(modules string) string {
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(program, "-c", "import "+modules).Run() == nil {
			return program
		}
	}
	return ""
}
