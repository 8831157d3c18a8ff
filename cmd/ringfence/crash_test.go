package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/ringfence/ringfence/caddymodule/gatewaytest"
)

// Every acknowledged write survives kill -9 in the middle of further writes.
func TestKilledUnderWriteLoad(t *testing.T) {
	for name, address := range databases {
		t.Run(name, func(t *testing.T) { killUnderWriteLoad(t, address(t)) })
	}
}

func killUnderWriteLoad(t *testing.T, address string) {
	t.Helper()
	p := gatewaytest.Start(t, gatewaytest.Settings{Database: address}).Ready(t)
	admin := p.Login(t, "admin", gatewaytest.Password)
	acknowledged := map[string]bool{}
	for round := range 2 {
		enough := len(acknowledged) + 100
		var (
			mu    sync.Mutex
			wg    sync.WaitGroup
			names = make(chan string)
		)
		ctx, cancel := context.WithCancel(t.Context())
		for range 8 {
			wg.Go(func() {
				for name := range names {
					a, err := p.Try(ctx, "POST", "/api/confd/1.1/users", admin, `{"firstname": "`+name+`"}`)
					if err != nil {
						continue // killed: it may or may not be written
					}
					mu.Lock()
					if acknowledged[name] = true; a.Status != 201 {
						t.Errorf("status %d: %s", a.Status, a.Body)
					}
					if len(acknowledged) == enough {
						p.Kill(t)
						cancel()
					}
					mu.Unlock()
				}
			})
		}
		for n := 0; ctx.Err() == nil; n++ {
			names <- fmt.Sprintf("r%d-%d", round, n)
		}
		close(names)
		wg.Wait()
		cancel()

		p.Run(t)
		p.Ready(t)
		there := map[string]bool{}
		for _, name := range firstnames(t, p, admin) { // with the token issued before the crash
			there[name] = true
		}
		for name := range acknowledged {
			if !there[name] {
				t.Errorf("user %s was acknowledged and is lost", name)
			}
		}
	}
}

func firstnames(t *testing.T, p *gatewaytest.Process, token string) (names []string) {
	t.Helper()
	for {
		var page struct {
			Total int
			Items []struct{ Firstname string }
		}
		a := p.Do(t, "GET", fmt.Sprintf("/api/confd/1.1/users?order=firstname&limit=100&offset=%d", len(names)), token, "").Want(200)
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			names = append(names, item.Firstname)
		}
		if len(page.Items) == 0 {
			if len(names) != page.Total {
				t.Errorf("%d users of %d are listed", len(names), page.Total)
			}
			return names
		}
	}
}
