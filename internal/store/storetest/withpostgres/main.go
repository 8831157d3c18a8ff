// Command withpostgres runs a command, such as `go test ./...`, with TEST_POSTGRES_DSN set. If it is set already, it stays;
// otherwise it is the address of a private server that lives as long as the command. With -durable that server waits for the disk
// at each commit, as one that is measured must.
//
//	go run ./internal/store/storetest/withpostgres [-durable] -- go test ./...
//
// The server's programs must be installed. As root on a system with apt-get it installs them; otherwise it says what to do. The
// exit status is the command's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/ringfence/ringfence/internal/store/storetest/pgserver"
)

const variable = "TEST_POSTGRES_DSN"

func main() {
	durable := flag.Bool("durable", false, "wait for the disk at each commit")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: withpostgres [-durable] -- command [argument ...]") }
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	status, err := run(flag.Args(), *durable)
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
	}
	os.Exit(status)
}

// run returns the command's status, or 1 and the error that came before it.
func run(arguments []string, durable bool) (int, error) {
	program, err := exec.LookPath(arguments[0])
	if err != nil {
		return 1, err
	}
	if os.Getenv(variable) != "" {
		return 1, fmt.Errorf("running %s: %w", program, syscall.Exec(program, arguments, os.Environ())) //nolint:gosec // what this command is for
	}

	// Signals end the command, and only then the server.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx := context.Background()
	if _, err := pgserver.Programs(); errors.Is(err, pgserver.ErrNoPrograms) {
		if err := install(ctx); err != nil {
			return 1, err
		}
	}
	server, err := pgserver.Start(ctx, durable)
	if err != nil {
		return 1, fmt.Errorf("starting a private PostgreSQL: %w", err)
	}
	status, err := child(ctx, program, arguments, server.DSN("postgres"), signals)
	return status, errors.Join(err, server.Remove())
}

func child(ctx context.Context, program string, arguments []string, dsn string, signals <-chan os.Signal) (int, error) {
	cmd := exec.CommandContext(ctx, program, arguments[1:]...) //nolint:gosec // what this command is for
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), variable+"="+dsn)
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended; then Wait says so
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return 0, err
			}
			if code := exit.ExitCode(); code >= 0 {
				return code, nil
			}
			return 1, fmt.Errorf("%s: %w", program, err)
		}
	}
}
