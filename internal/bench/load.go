package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// job is one portion of load.
type job struct {
	Address     string   `json:"address"`
	Paths       []string `json:"paths"`
	Requests    int      `json:"requests"`
	Connections int      `json:"connections"`
	// Seconds, if it is not 0, ends the job when that time is over, however many requests are left.
	Seconds float64 `json:"seconds"`
}

// finding is what the load generator saw. Every answer that is not 200 is a failure of the job.
type finding struct {
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitempty"`
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

// run has a job done.
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
	// What the gate keeps lies in the memory in the order in which it was filled.
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
	requests := make([][]byte, len(j.Paths))
	for i, path := range j.Paths {
		requests[i] = requestTo(j.Address, path)
	}

	var (
		left, failed atomic.Int64
		failure      atomic.Pointer[error]
		work         sync.WaitGroup
	)
	left.Store(int64(j.Requests))
	began := time.Now()
	for _, c := range clients[:j.Connections] {
		work.Go(func() {
			for failed.Load() == 0 && left.Add(-1) >= 0 {
				if j.Seconds > 0 && time.Since(began).Seconds() > j.Seconds {
					left.Add(1)
					return
				}
				i := l.next.Add(1)
				if err := c.ask(requests[i%int64(len(requests))], l.tokens[i%int64(len(l.tokens))]); err != nil {
					failed.Add(1)
					failure.Store(&err)
				}
			}
		})
	}
	work.Wait()
	f := finding{Requests: j.Requests - int(max(0, left.Load())), Seconds: time.Since(began).Seconds()}
	if err := failure.Load(); err != nil {
		f.Error = (*err).Error()
		delete(l.clients, j.Address)
	}
	return f
}

// tokenHole is where the token goes in a prepared request.
const tokenHole = "X-Auth-Token: "

func requestTo(address, path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\n" +
		"Host: " + address + "\r\n" +
		"User-Agent: ringfence-bench/1.0\r\n" +
		"Accept: application/json\r\n" +
		"Accept-Encoding: gzip\r\n" +
		tokenHole + "\r\n\r\n")
}

// client is one connection, with one request on its way at a time.
type client struct {
	conn    net.Conn
	answers *bufio.Reader
	buffer  []byte
}

func dial(address string) (*client, error) {
	conn, err := tls.Dial("tcp", address, anyCertificate())
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	return &client{conn: conn, answers: bufio.NewReaderSize(conn, 8<<10)}, nil
}

func (c *client) ask(request []byte, token string) error {
	hole := len(request) - len("\r\n\r\n")
	c.buffer = append(c.buffer[:0], request[:hole]...)
	c.buffer = append(c.buffer, token...)
	c.buffer = append(c.buffer, request[hole:]...)
	if _, err := c.conn.Write(c.buffer); err != nil {
		return fmt.Errorf("sending a request: %w", err)
	}
	return c.answer()
}

var (
	good          = []byte("HTTP/1.1 200 ")
	contentLength = []byte("content-length: ")
)

func (c *client) answer() error {
	line, err := c.answers.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("reading an answer: %w", err)
	}
	if !bytes.HasPrefix(line, good) {
		return fmt.Errorf("answered %q", bytes.TrimSpace(line))
	}
	length := -1
	for {
		line, err := c.answers.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("reading an answer: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if n := len(contentLength); len(line) > n && bytes.EqualFold(line[:n], contentLength) {
			if length, err = strconv.Atoi(string(line[n:])); err != nil {
				return fmt.Errorf("reading an answer's length: %w", err)
			}
		}
	}
	if length < 0 {
		return errors.New("an answer has no length")
	}
	if _, err := c.answers.Discard(length); err != nil {
		return fmt.Errorf("reading an answer's body: %w", err)
	}
	return nil
}

// readTokens reads a file of tokens, one a line.
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
