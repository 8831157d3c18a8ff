package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"github.com/ringfence/ringfence/internal/store/storetest/pgserver"
)

// errInstall says what to do.
var errInstall = errors.New(`the tests need PostgreSQL's server programs. Do one of these and run them again:
  Debian, Ubuntu:  sudo apt-get install postgresql
  Fedora:          sudo dnf install postgresql-server
  macOS:           brew install postgresql@17
  another server:  export TEST_POSTGRES_DSN='postgres://admin:password@host/postgres', a login that may create databases`)

// policy is the file that Debian's packages run to ask whether they may start services.
const policy = "/usr/sbin/policy-rc.d"

// install installs the server's programs if it can: as root, with apt-get.
func install(ctx context.Context) (err error) {
	apt, lookErr := exec.LookPath("apt-get")
	if os.Geteuid() != 0 || lookErr != nil {
		return errInstall
	}
	fmt.Fprintln(os.Stderr, "withpostgres: PostgreSQL's server programs are missing; installing the package postgresql by apt-get, without starting its service")

	// The package would start its own server. An existing policy stays in force.
	file, err := os.OpenFile(policy, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // a program must be executable
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, os.Remove(policy)) }()
		if _, err := file.WriteString("#!/bin/sh\nexit 101\n"); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}

	for _, arguments := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "postgresql"}} {
		cmd := exec.CommandContext(ctx, apt, arguments...) //nolint:gosec // apt-get of this system
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("running apt-get %s: %w\n%w", arguments[0], err, errInstall)
		}
	}
	_, err = pgserver.Programs()
	return err
}
