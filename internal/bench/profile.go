package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// recordProfile records a CPU profile of the gateway under the load that the release build is tuned for: mostly requests that
// go on to another daemon, and some that are answered here. The program that is profiled has no profile yet, so
// that each recording starts from the same code.
func (b *bench) recordProfile(file string) error {
	seconds := 60
	if b.quick {
		seconds = 10
	}
	s := new(stage)
	defer s.close()
	upstreamAddress, authAddress, _, err := b.back(s)
	if err != nil {
		return err
	}
	b.pgo = ""
	plain, err := b.build("./internal/bench", true)
	if err != nil {
		return err
	}
	variants, err := b.serveGated(s, plain, gatedSites(upstreamAddress, authAddress))
	if err != nil {
		return err
	}
	mix := []variant{variants[0], variants[0], variants[0], variants[2], variants[5]}

	recorded := make(chan error, 1)
	var profile []byte
	go func() {
		var err error
		profile, err = fetchProfile(s.admin, seconds)
		recorded <- err
	}()
	for i := 0; ; i++ {
		v := mix[i%len(mix)]
		if _, err := s.generator.run(job{Address: v.address, Paths: v.paths, Requests: crowdSize, Connections: 16, Seconds: 1}); err != nil {
			return err
		}
		select {
		case err := <-recorded:
			if err != nil {
				return fmt.Errorf("recording the profile: %w", err)
			}
			return os.WriteFile(file, profile, 0o644)
		default:
		}
	}
}

// fetchProfile asks Caddy's admin API.
func fetchProfile(socket string, seconds int) ([]byte, error) {
	client := &http.Client{
		Timeout: time.Duration(seconds)*time.Second + time.Minute,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	}
	answer, err := client.Get("http://127.0.0.1/debug/pprof/profile?seconds=" + strconv.Itoa(seconds))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the admin API answered %s", answer.Status)
	}
	return io.ReadAll(answer.Body)
}
