package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/ringfence/ringfence/internal/selfsigned"
	"github.com/ringfence/ringfence/internal/tokens"
)

// The roles in which the program runs itself.
const (
	roleGateway   = "gateway"
	roleLoad      = "load"
	roleUpstream  = "upstream"
	roleAuthorize = "authorize"
	roleMicro     = "micro"
	roleMount     = "mount"
)

const crowdSize = 100_000

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) > 1 {
		switch role, rest := arguments[0], arguments[1:]; role {
		case roleGateway:
			gateway(rest)
			return nil
		case roleLoad:
			return generate(rest[0], os.Stdin, os.Stdout)
		case roleUpstream:
			return upstream(rest[0])
		case roleAuthorize:
			return authorize(rest[0], rest[1])
		case roleMicro:
			return micro(rest[0], os.Stdout)
		case roleMount:
			return mount(rest[0], os.Stdout)
		}
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "fewer rounds: about two minutes, for a look and not for the record")
	only := flags.String("only", "", "one group of rows: gate, process, startup, revocation, steady, search, long, user, asterisk, mount, import")
	profile := flags.String("profile", "", "record a CPU profile under the gate's load into this file, and measure nothing")
	pgo := flags.String("pgo", "cmd/ringfence/default.pgo", "the profile that the release build uses")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	b, err := newBench(*quick, *pgo)
	if err != nil {
		return err
	}
	defer b.close()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		b.close()
		os.Exit(1)
	}()
	if *profile != "" {
		return b.recordProfile(*profile)
	}
	groups := []struct {
		name string
		rows func() ([]row, error)
	}{
		{"gate", b.gateRows},
		{"process", b.microRows},
		{"steady", b.steadyRows},
		{"startup", b.startRows},
		{"revocation", b.revocationRows},
		{"search", b.searchRows},
		{"long", b.longWriteRows},
		{"user", b.userRows},
		{"asterisk", b.asteriskRows},
		{"mount", b.mountRows},
		{"import", b.importRows},
	}
	var (
		rows  []row
		wrong error
	)
	for _, g := range groups {
		if *only != "" && *only != g.name {
			continue
		}
		found, err := g.rows()
		rows = append(rows, found...)
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("group %s: %w", g.name, err))
		}
	}
	if rows == nil && wrong == nil {
		return fmt.Errorf("there is no group %q", *only)
	}
	b.describe()
	show(os.Stdout, rows)
	return wrong
}

// bench is one run.
type bench struct {
	folder string
	quick  bool
	pgo    string
	// self is this program, built like the release; see build.
	self string
	// tokenFile and certificate are shared by the processes. The certificate is a path without .pem and .key.
	tokenFile   string
	certificate string
}

func newBench(quick bool, pgo string) (*bench, error) {
	folder, err := os.MkdirTemp("", "ringfence-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{folder: folder, quick: quick, pgo: pgo}
	if err := b.prepare(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) prepare() (err error) {
	if b.self, err = b.build("./internal/bench", true); err != nil {
		return err
	}
	all := make([]string, crowdSize)
	for i := range all {
		all[i] = tokens.New()
	}
	if b.tokenFile, err = write(b.folder, "tokens", strings.Join(all, "\n")); err != nil {
		return err
	}
	store, err := selfsigned.Open(filepath.Join(b.folder, "tls"), selfsigned.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	b.certificate = filepath.Join(b.folder, "server")
	return writeCertificate(store.Certificate(), b.certificate)
}

// build builds a program, with the release's flags or with Go's defaults.
func (b *bench) build(pkg string, release bool) (string, error) {
	program := filepath.Join(b.folder, filepath.Base(pkg))
	profile := "off"
	if _, err := os.Stat(b.pgo); release && err == nil {
		profile = b.pgo
	}
	arguments := []string{"build", "-ldflags", "-s -w", "-pgo", profile, "-o", program}
	if release {
		arguments = append(arguments, "-trimpath")
	}
	fmt.Fprintln(os.Stderr, "bench: building", pkg)
	cmd := exec.Command("go", append(arguments, pkg)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s, from the repository's root: %w", pkg, err)
	}
	return program, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.folder) }

// describe prints where the figures come from.
func (b *bench) describe() {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	fmt.Printf("%s, %s/%s, %d x %s, load average at the end %s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, load)
}
