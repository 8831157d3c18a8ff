package caddymodule

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/caddymodule/commands"
	"github.com/ringfence/ringfence/caddymodule/mended/garbage"
)

func init() {
	cobra.OnInitialize(func() {
		if err := useDefaults(); err != nil {
			fmt.Fprintln(os.Stderr, "ringfence:", err)
			os.Exit(caddy.ExitCodeFailedStartup)
		}
	})
}

// Main is the program: it checks the environment variables (docs/configuration.md, Environment) and runs Caddy's command line. It
// does not return. Another Caddy build with these modules does without it (docs/configuration.md, Memory).
func Main() {
	garbage.Tune()
	help, err := commands.Intercept(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "ringfence:", err)
		os.Exit(caddy.ExitCodeFailedStartup)
	}
	if help != "" {
		fmt.Print(help)
		return
	}
	if err := prepare(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ringfence:", err)
		os.Exit(caddy.ExitCodeFailedStartup)
	}
	caddycmd.Main()
}

// variables are listed in docs/configuration.md, Environment.
var variables = []string{
	"RINGFENCE_HTTPS_PORT", "RINGFENCE_HELPERS_PORT", "RINGFENCE_DATA", "RINGFENCE_DATABASE",
	"RINGFENCE_ADMIN_USERNAME", "RINGFENCE_ADMIN_PASSWORD", "RINGFENCE_PUBLIC_URL", "RINGFENCE_SEALING_KEYS", socketVariable,
}

const socketVariable = "RINGFENCE_ADMIN_SOCKET"

// useDefaults sets variables to defaults that a Caddyfile cannot express, for each command and in every Caddy build.
func useDefaults() error {
	for _, name := range variables {
		// An empty variable means the default; a Caddyfile would take it for an empty value.
		if value, set := os.LookupEnv(name); set && value == "" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	if os.Getenv(socketVariable) != "" {
		return nil
	}
	return os.Setenv(socketVariable, filepath.Join(dataFolder(), "admin.sock"))
}

func dataFolder() string { return cmp.Or(os.Getenv("RINGFENCE_DATA"), "data") }

func prepare(args []string) error {
	if err := useDefaults(); err != nil {
		return err
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
	asksHelp := slices.Contains(args, "--help") || slices.Contains(args, "-h")
	return useSocket((command == "run" || command == "start") && !asksHelp)
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

// longestSocket is the shortest limit on the path of a socket (macOS), in bytes.
const longestSocket = 103

// useSocket makes Caddy's admin API use a socket in the data folder by default, instead of a TCP port that everybody on this
// machine can open. If makeFolder is set, it creates the data folder, in which Caddy opens the socket.
func useSocket(makeFolder bool) error {
	socket := os.Getenv(socketVariable)
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
	if err := os.MkdirAll(dataFolder(), 0o700); err != nil {
		return fmt.Errorf("making the data folder (RINGFENCE_DATA): %w", err)
	}
	return nil
}

// Version is this program's version. A release sets it at link time; otherwise it is the version of the module in the build, also
// in another Caddy build.
var Version = ""

const modulePath = "github.com/ringfence/ringfence"

func init() {
	if Version == "" {
		info, _ := debug.ReadBuildInfo()
		Version = builtVersion(info)
	}
	caddy.CustomBinaryName = "ringfence"
	caddy.CustomVersion = versionLine()
	caddy.CustomLongDescription = "Ringfence is a gateway that enforces access control in front of a telephony backend.\n" +
		"It is a custom build of Caddy: all of Caddy's commands and configuration work."
}

// builtVersion returns the version of our module in a build, "(devel)" if it was built from a working tree.
func builtVersion(info *debug.BuildInfo) string {
	if info == nil {
		return "(unknown)"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			m = m.Replace
		}
		if m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// versionLine returns what `ringfence version` prints, except for its end: Caddy appends its own version.
func versionLine() string { return "ringfence " + Version + ", " + runtime.Version() + ", Caddy" }
