package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// job is one portion of load.
type job struct {
	Address string `json:"address"`
	// Method is GET when it is empty.
	Method string `json:"method,omitempty"`
	// Paths are requested in turn. The token goes into the header, or into a path's tokenHole.
	Paths       []string `json:"paths"`
	Requests    int      `json:"requests"`
	Connections int      `json:"connections"`
	// Seconds, if not 0, ends the job after that time, however many requests are left.
	Seconds float64 `json:"seconds"`
	// Timed says that each request is timed.
	Timed bool `json:"timed,omitempty"`
}

// finding is the load generator's result. Every response other than 200 and 204 fails the job.
type finding struct {
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
	// P99 is the time within which 99 of 100 requests of a timed job were answered.
	P99   time.Duration `json:"p99,omitempty"`
	Error string        `json:"error,omitempty"`
}

// generator is the load generator's process, as the run sees it.
type generator struct {
	*process
	to   *json.Encoder
	from *json.Decoder
}

func startGenerator(self, tokenFile string) (*generator, error) {
	p := &process{name: "the load generator", log: new(tail), done: make(chan struct{})}
	p.cmd = exec.Command(self, roleLoad, tokenFile)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = dieWithParent()
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the load generator: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return &generator{p, json.NewEncoder(in), json.NewDecoder(out)}, nil
}

// run runs a job.
func (g *generator) run(j job) (finding, error) {
	var f finding
	if err := g.to.Encode(j); err != nil {
		return f, fmt.Errorf("asking the load generator: %w\n%s", err, g.log)
	}
	if err := g.from.Decode(&f); err != nil {
		return f, fmt.Errorf("hearing from the load generator: %w\n%s", err, g.log)
	}
	if f.Error != "" {
		return f, fmt.Errorf("loading %s%s: %s", j.Address, j.Paths[0], f.Error)
	}
	return f, nil
}

// generate is the load generator's role: jobs come in on standard input, one JSON object each, and findings go out.
// Connections stay open from one job to the next at the same address.
func generate(tokenFile string, in io.Reader, out io.Writer) error {
	tokens, err := readTokens(tokenFile)
	if err != nil {
		return err
	}
	// The gate's data lies in memory in the order in which it was filled.
	rand.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	g := load{tokens: tokens, clients: map[string][]*client{}}
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var j job
		if err := from.Decode(&j); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := to.Encode(g.do(j)); err != nil {
			return err
		}
	}
}

type load struct {
	tokens  []string
	next    atomic.Int64
	clients map[string][]*client
}

func (l *load) do(j job) finding {
	clients := l.clients[j.Address]
	for len(clients) < j.Connections {
		c, err := dial(j.Address)
		if err != nil {
			return finding{Error: err.Error()}
		}
		clients = append(clients, c)
	}
	l.clients[j.Address] = clients
	requests := make([]request, len(j.Paths))
	for i, path := range j.Paths {
		requests[i] = requestTo(j.Address, cmp.Or(j.Method, http.MethodGet), path)
	}

	var (
		left, failed atomic.Int64
		failure      atomic.Pointer[error]
		work         sync.WaitGroup
		times        = make([][]time.Duration, j.Connections)
	)
	left.Store(int64(j.Requests))
	began := time.Now()
	for n, c := range clients[:j.Connections] {
		work.Go(func() {
			for failed.Load() == 0 && left.Add(-1) >= 0 {
				if j.Seconds > 0 && time.Since(began).Seconds() > j.Seconds {
					left.Add(1)
					return
				}
				i, asked := l.next.Add(1), time.Now()
				if err := c.ask(requests[i%int64(len(requests))], l.tokens[i%int64(len(l.tokens))]); err != nil {
					failed.Add(1)
					failure.Store(&err)
				}
				if j.Timed {
					times[n] = append(times[n], time.Since(asked))
				}
			}
		})
	}
	work.Wait()
	f := finding{Requests: j.Requests - int(max(0, left.Load())), Seconds: time.Since(began).Seconds()}
	if j.Timed {
		f.P99 = percentile(slices.Concat(times...), 99)
	}
	if err := failure.Load(); err != nil {
		f.Error = (*err).Error()
		delete(l.clients, j.Address)
	}
	return f
}

// readTokens reads a file of tokens, one per line.
func readTokens(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	var all []string
	for line := range bytes.Lines(text) {
		all = append(all, string(bytes.TrimSpace(line)))
	}
	if len(all) == 0 {
		return nil, errors.New("there are no tokens")
	}
	return all, nil
}
