package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/caddymodule/mended/garbage"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/sealed"
	"github.com/ringfence/ringfence/internal/store"
)

// longestMount is the budget for mountOperations.
const (
	longestMount    = 50 * time.Millisecond
	mountOperations = 600
)

// mountFindings are of a process that has just started: the CPU time that it took to describe and mount both services.
type mountFindings struct {
	Operations int           `json:"operations"`
	Mounted    time.Duration `json:"mounted"`
}

// scaled is what it takes for as many operations as the budget is for.
func (f mountFindings) scaled(took time.Duration) time.Duration {
	return took * mountOperations / time.Duration(f.Operations)
}

// mount is the role that mounts both services as the gateway does, without a database.
func mount(data string, out io.Writer) error {
	garbage.Tune()
	db := store.NewLate()
	began, err := cpuTime(os.Getpid())
	if err != nil {
		return err
	}
	auth, err := authsvc.New(authsvc.Options{DB: db, Sealer: sealed.New(sealed.Options{File: data + "/sealing-key"})})
	if err != nil {
		return err
	}
	confd, err := confdsvc.New(confdsvc.Options{DB: db, Installation: auth.Installation, Logins: auth})
	if err != nil {
		return err
	}
	mounted, err := cpuTime(os.Getpid())
	if err != nil {
		return err
	}
	f := mountFindings{Mounted: mounted - began}
	for _, s := range []*rest.Service{auth.REST(), confd} {
		f.Operations += len(s.Operations)
	}
	return json.NewEncoder(out).Encode(f)
}

// mountRows measures the mount of both services in processes that have just started, and has a test of caddymodule reload the gateway.
func (b *bench) mountRows() ([]row, error) {
	times := 15
	if b.quick {
		times = 3
	}
	var f mountFindings
	var mounted []time.Duration
	for range times {
		out, err := exec.Command(b.self, roleMount, b.folder).Output()
		if err != nil {
			return nil, fmt.Errorf("mounting the services: %w", err)
		}
		if err := json.Unmarshal(out, &f); err != nil {
			return nil, err
		}
		mounted = append(mounted, f.Mounted)
	}
	scaled := f.scaled(median(mounted))
	rows := []row{
		{
			what:     fmt.Sprintf("mount of both services, %d operations, in a new process", f.Operations),
			measured: fmt.Sprintf("%s (best %s); that is %s for %d", millis(median(mounted)), millis(percentile(mounted, 0)), millis(scaled), mountOperations),
			budget:   fmt.Sprintf("%s for %d", millis(longestMount), mountOperations), verdict: judge(scaled < longestMount),
		},
	}
	again, err := mountedAgain()
	return append(rows, again), err
}

// mountedAgain has the test that knows it reload the gateway.
func mountedAgain() (row, error) {
	const test = "TestReloadMountsNothing"
	line := row{what: "services that a reload mounts again (caddymodule, " + test + ")", measured: "0 of 3", budget: "0", verdict: met}
	fmt.Fprintln(os.Stderr, "bench: a reload")
	out, err := exec.Command("go", "test", "./caddymodule", "-pgo", "off", "-run", "^"+test+"$", "-count", "1", "-v").CombinedOutput()
	switch passed := strings.Contains(string(out), "--- PASS: "+test); {
	case err != nil && strings.Contains(string(out), "--- FAIL: "+test):
		line.measured, line.verdict = "some: the test fails", missed
		return line, nil
	case err != nil || !passed:
		return line, fmt.Errorf("running %s of caddymodule, from the repository's root: %w (it passed: %s)\n%s", test, err, strconv.FormatBool(passed), out)
	}
	return line, nil
}
