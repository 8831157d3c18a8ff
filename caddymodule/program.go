package caddymodule

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
)

// Main is the program: Caddy's command line, after the environment variables of DESIGN section 2 have been
// checked and have got the defaults that a Caddyfile cannot express. It does not come back.
func Main() {
	TuneGarbage()
	if err := prepare(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ringfence:", err)
		os.Exit(caddy.ExitCodeFailedStartup)
	}
	caddycmd.Main()
}

// variables are those of README, "Settings".
var variables = []string{
	"RINGFENCE_HTTPS_PORT", "RINGFENCE_HELPERS_PORT", "RINGFENCE_DATA", "RINGFENCE_DATABASE",
	"RINGFENCE_ADMIN_USERNAME", "RINGFENCE_ADMIN_PASSWORD", "RINGFENCE_PUBLIC_URL", "RINGFENCE_SEALING_KEYS", socketVariable,
}

const socketVariable = "RINGFENCE_ADMIN_SOCKET"

func prepare(args []string) error {
	for _, name := range variables {
		// An empty variable means the default; a Caddyfile would take it for an empty value.
		if value, set := os.LookupEnv(name); set && value == "" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	if !slices.Contains([]string{"run", "start", "reload", "stop", "validate", "adapt"}, command) {
		return nil
	}
	for _, name := range []string{"RINGFENCE_HTTPS_PORT", "RINGFENCE_HELPERS_PORT"} {
		if err := checkPort(name); err != nil {
			return err
		}
	}
	return useSocket(command == "run" || command == "start")
}

func checkPort(name string) error {
	value, set := os.LookupEnv(name)
	if !set {
		return nil
	}
	if port, err := strconv.ParseUint(value, 10, 16); err != nil || port == 0 {
		return fmt.Errorf("%s is %q; a port is a number from 1 to 65535", name, value)
	}
	return nil
}

// longestSocket is how long the path of a socket may be where it may be shortest (macOS).
const longestSocket = 103

// useSocket gives Caddy's admin API a socket in the data folder, for the Caddyfile that names it and for
// configurations that say nothing: never Caddy's own default, a TCP port that everybody on this machine can open. To
// run, it makes the data folder: Caddy opens the socket before any module of ours is asked.
func useSocket(makeFolder bool) error {
	data := os.Getenv("RINGFENCE_DATA")
	if data == "" {
		data = "data"
	}
	socket := os.Getenv(socketVariable)
	if socket == "" {
		socket = filepath.Join(data, "admin.sock")
		if err := os.Setenv(socketVariable, socket); err != nil {
			return err
		}
	}
	if len(socket) > longestSocket {
		return fmt.Errorf("the admin socket's path %s is longer than the %d bytes that a socket may have; "+
			"set %s to a shorter one", socket, longestSocket, socketVariable)
	}
	if os.Getenv("CADDY_ADMIN") == "" {
		caddy.DefaultAdminListen = "unix/" + socket + "|0600"
	}
	if !makeFolder {
		return nil
	}
	if err := os.MkdirAll(data, 0o700); err != nil { //nolint:gosec // the operator's own path
		return fmt.Errorf("making the data folder (RINGFENCE_DATA): %w", err)
	}
	return nil
}
