package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// groups are the commands that the help shows, in its order; those of Caddy that are not here come after them.
var groups = []struct {
	title string
	names []string
}{
	{"The gateway", []string{"run", "reload", "stop", "validate", "version"}},
	{"The installation", []string{"doctor", "backup", "restore", "import", "certificate", "admin", "demo"}},
	{"Who may do what", []string{"user", "group", "policy", "tenant", "token"}},
	{"Asterisk", []string{"apply", "asterisk"}},
}

// replacers are Caddy's commands that would replace this program by another one, without ringfence.
var replacers = []string{"upgrade", "add-package", "remove-package"}

// ours are what Caddy says otherwise of its commands.
var ours = map[string]string{
	"run":      "Starts the gateway, and blocks until it ends",
	"reload":   "Gives the running gateway a changed configuration; no request is lost",
	"stop":     "Stops the running gateway",
	"validate": "Checks a configuration, and touches nothing",
	"version":  "Prints the version",
}

const helpHead = `Ringfence is a gateway that enforces access control in front of a telephony backend. It is a custom build of Caddy.

Usage:
  ringfence <command> [flags]

Examples:
  ringfence run --config Caddyfile                      start it, in the foreground
  ringfence doctor                                      see what is wrong, and what to do
  ringfence backup --output backup.zip                  while it runs
  ringfence user list --server https://pbx:8443 --cacert gateway.pem --token-file token

`

// Intercept returns what the program prints instead of running Caddy's command line, and an error if the command is one that this
// program does not have. Both are empty if Caddy's command line is to run.
func Intercept(args []string) (help string, err error) {
	if len(args) == 0 || len(args) == 1 && slices.Contains([]string{"help", "--help", "-h"}, args[0]) {
		return rootHelp(), nil
	}
	for _, name := range args[:min(len(args), 2)] {
		if slices.Contains(replacers, name) && (name == args[0] || args[0] == "help") {
			return "", fmt.Errorf("there is no command %s: it would replace this program by one without ringfence; docs/operations.md says how to upgrade", name)
		}
	}
	if len(args) > 1 && args[0] == "help" && !strings.HasPrefix(args[1], "-") {
		if _, known := caddycmd.Commands()[args[1]]; !known {
			return "", fmt.Errorf("there is no command %q; \"ringfence help\" lists those that there are", args[1])
		}
	}
	return "", nil
}

// Register registers a command of ours. Its help does not lead to Caddy's documents, and who writes it wrongly reads how it is written.
func Register(c caddycmd.Command) {
	build := c.CobraFunc
	c.CobraFunc = func(cmd *cobra.Command) {
		build(cmd)
		cmd.SetHelpTemplate(new(cobra.Command).HelpTemplate())
		cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
			return fmt.Errorf("%w; \"%s --help\" lists the flags", err, cmd.CommandPath())
		})
		explainArguments(cmd)
	}
	caddycmd.RegisterCommand(c)
}

// explainArguments lets a command and those below it say which arguments they take, if it is given others. One that has others below it takes none, and
// shows its help.
func explainArguments(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case cmd.HasSubCommands():
				return fmt.Errorf("%w; \"%s --help\" lists its commands", err, cmd.CommandPath())
			default:
				return fmt.Errorf("%w; write: %s", err, cmd.UseLine())
			}
		}
	}
	for _, below := range cmd.Commands() {
		explainArguments(below)
	}
}

func rootHelp() string {
	rest := maps.Clone(caddycmd.Commands())
	var text strings.Builder
	text.WriteString(helpHead)
	show := func(title string, names []string) {
		text.WriteString(title + ":\n")
		for _, name := range names {
			short := rest[name].Short
			if mine := ours[name]; mine != "" {
				short = mine
			}
			fmt.Fprintf(&text, "  %-16s %s\n", name, short)
			delete(rest, name)
		}
		text.WriteString("\n")
	}
	for _, name := range replacers {
		delete(rest, name)
	}
	for _, g := range groups {
		show(g.title, g.names)
	}
	show("Caddy", slices.Sorted(maps.Keys(rest)))
	text.WriteString("\"ringfence help <command>\" says more about a command.\n")
	return text.String()
}
