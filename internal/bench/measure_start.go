package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// node is a release binary with the repository's own Caddyfile, as `make run` starts it.
type node struct {
	*process
	url    string
	client *http.Client
}

// startNode starts a node on a data folder and, if one is named, a database, with more environment variables. It does not wait.
func (b *bench) startNode(release, data, database string, more ...string) (*node, error) {
	ports, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	port := func(address string) string {
		_, port, _ := net.SplitHostPort(address)
		return port
	}
	env := []string{
		"RINGFENCE_DATA=" + data, "RINGFENCE_DATABASE=" + database, "RINGFENCE_ADMIN_SOCKET=" + filepath.Join(data, "admin.sock"),
		"RINGFENCE_HTTPS_PORT=" + port(ports[0]), "RINGFENCE_HELPERS_PORT=" + port(ports[1]),
	}
	p, err := start("the gateway", append(env, more...), release, "run", "--config", "Caddyfile")
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4}
	return &node{p, "https://" + ports[0], &http.Client{Transport: transport, Timeout: 10 * time.Second}}, nil
}

// address returns the host and port of the HTTPS listener.
func (n *node) address() string { return strings.TrimPrefix(n.url, "https://") }

// ask sends a request and returns the status.
func (n *node) ask(method, path, token string) (int, error) {
	r, err := http.NewRequest(method, n.url+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept", "application/json")
	if token != "" {
		r.Header.Set("X-Auth-Token", token)
	}
	answer, err := n.client.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// logIn returns a token.
func (n *node) logIn(name, password string) (string, error) {
	r, err := http.NewRequest(http.MethodPost, n.url+"/api/auth/0.1/token", strings.NewReader(`{}`))
	if err != nil {
		return "", err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(name, password)
	answer, err := n.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var record struct {
		Data struct {
			Token string `json:"token"`
		} `json:"data"`
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("logging in: answered %s", answer.Status)
	}
	err = json.NewDecoder(answer.Body).Decode(&record)
	return record.Data.Token, err
}

// answers waits until the path returns 200.
func (n *node) answers(path string) error {
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		if status, err := n.ask(http.MethodGet, path, ""); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-n.done:
			return fmt.Errorf("%s ended: %w\n%s", n.name, n.err, n.log)
		case <-time.After(time.Millisecond):
		}
	}
	return fmt.Errorf("%s does not answer %s\n%s", n.name, path, n.log)
}

// startRows measures from the start of the process to the first response over HTTPS.
func (b *bench) startRows() ([]row, error) {
	release, err := b.build("./cmd/ringfence", true)
	if err != nil {
		return nil, err
	}
	once := func(data, path string) (time.Duration, error) {
		began := time.Now()
		n, err := b.startNode(release, data, "")
		if err != nil {
			return 0, err
		}
		defer n.stop()
		err = n.answers(path)
		return time.Since(began), err
	}
	times := 7
	if b.quick {
		times = 2
	}
	found := map[string][]time.Duration{}
	for i := range times {
		for _, path := range []string{"/healthz", "/readyz"} {
			data := filepath.Join(b.folder, "start"+strconv.Itoa(i)+path)
			for _, which := range []string{"first", "second"} {
				took, err := once(data, path)
				if err != nil {
					return nil, err
				}
				found[which+path] = append(found[which+path], took)
			}
		}
	}
	line := func(what, key string) row {
		all := found[key]
		return row{what, fmt.Sprintf("%s (best %s)", millis(median(all)), millis(percentile(all, 0))), "1 s", judge(median(all) < time.Second)}
	}
	return []row{
		line("start to first answer (/healthz), new data folder", "first/healthz"),
		line("start to first answer (/healthz), second start", "second/healthz"),
		line("start to ready (/readyz), new data folder", "first/readyz"),
		line("start to ready (/readyz), second start", "second/readyz"),
	}, nil
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
