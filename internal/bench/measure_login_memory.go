package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
)

const (
	manyLogins = 1000
	loginWaves = 3
	// mostMemory is the budget of the gateway's memory meanwhile, in MiB.
	mostMemory = 300
)

// loginRows has a thousand people log in at once, each with a connection of their own, several times. Those that the bounded
// queue has no room for are refused with 429, and come again later.
func (t *town) loginRows() ([]row, error) {
	pid := t.node.pid()
	before, _, err := residentMemory(pid)
	if err != nil {
		return nil, err
	}
	if err := forgetPeak(pid); err != nil {
		return nil, err
	}
	answered := map[int]int{}
	for range loginWaves {
		if err := t.wave(answered); err != nil {
			return nil, err
		}
	}
	_, peak, err := residentMemory(pid)
	if err != nil {
		return nil, err
	}
	const mebi = 1 << 20
	return []row{{
		what: fmt.Sprintf("peak memory of the gateway under %d logins at once, %d times (PostgreSQL)", manyLogins, loginWaves),
		measured: fmt.Sprintf("%d MiB (%d before): %d logged in, %d refused with 429", peak/mebi, before/mebi,
			answered[http.StatusOK], answered[http.StatusTooManyRequests]),
		budget: fmt.Sprintf("%d MiB", mostMemory), verdict: judge(peak < mostMemory*mebi),
	}}, nil
}

// wave is all logins at once; it counts the answers by status.
func (t *town) wave(answered map[int]int) error {
	clients := make([]*client, manyLogins)
	for i := range clients {
		c, err := dial(t.node.address())
		if err != nil {
			return err
		}
		defer c.conn.Close()
		clients[i] = c
	}
	var (
		mu     sync.Mutex
		failed error
		work   sync.WaitGroup
		begin  = make(chan struct{})
	)
	for i, c := range clients {
		login := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "bench%d:%s", i, adminPassword))
		work.Go(func() {
			<-begin
			status, answer, err := c.call(http.MethodPost, "/api/auth/0.1/token", `{"expiration": 60}`, "Authorization: Basic "+login)
			mu.Lock()
			defer mu.Unlock()
			if answered[status]++; err == nil && status != http.StatusOK && status != http.StatusTooManyRequests {
				err = fmt.Errorf("a login was answered %d: %s", status, answer)
			}
			if err != nil {
				failed = err
			}
		})
	}
	close(begin)
	work.Wait()
	return failed
}
