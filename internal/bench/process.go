package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a program that the run has started.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *tail
	done chan struct{}
	err  error
}

// start starts a program, and shows its output only if it fails.
func start(name string, env []string, program string, args ...string) (*process, error) {
	p := &process{name: name, log: new(tail), done: make(chan struct{})}
	p.cmd = exec.CommandContext(context.Background(), program, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = dieWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// kill ends the process as a power cut would, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

const startTimeout = 60 * time.Second

// listening waits until the process accepts connections.
func (p *process) listening(address string) error {
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			return c.Close()
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s does not listen on %s\n%s", p.name, address, p.log)
}

// cpu returns the CPU time that the processes, and those that they started, have used so far.
func cpu(processes []*process) (time.Duration, error) {
	var sum time.Duration
	for _, p := range processes {
		pids, err := children(p.pid())
		if err != nil {
			return 0, err
		}
		for _, pid := range append(pids, p.pid()) {
			used, err := cpuTime(pid)
			if err != nil {
				return 0, err
			}
			sum += used
		}
	}
	return sum, nil
}

// tail keeps the end of the output.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailSize = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if len(t.end) > 2*tailSize {
		t.end = bytes.Clone(t.end[len(t.end)-tailSize:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}

// freeAddresses returns loopback addresses that nobody listens on now.
func freeAddresses(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// anyCertificate trusts every server: they are processes of this run.
func anyCertificate() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS13}
}
