package commands

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store/open"
	"github.com/ringfence/ringfence/internal/store/sqlite"
	"github.com/ringfence/ringfence/internal/webaddress"
)

func init() {
	for _, k := range operator.Kinds {
		Register(caddycmd.Command{
			Name:  k.Name,
			Usage: strings.Join(k.Verbs, "|"),
			Short: map[string]string{
				"user": "Manages the users who log in", "group": "Manages groups of users", "policy": "Manages policies, which are lists of accesses",
				"tenant": "Manages tenants", "token": "Gets a token, and lists and ends sessions",
			}[k.Name],
			Long: `
By the operations of the API, with its rules and its audit. From afar:

    ringfence ` + k.Name + ` list --server https://pbx.example.com:8443 --cacert gateway.pem --token-file token

The token may be in RINGFENCE_TOKEN instead, and never on the command line. On the
gateway's machine, without --server, it works on the database itself, as one who
may do everything: run it as the user that the gateway runs as, with the same
RINGFENCE_DATA and RINGFENCE_DATABASE. The gateways go on, and hear of the change.
One that has the embedded database is asked to do it, through its admin socket.
`,
			CobraFunc: func(cmd *cobra.Command) {
				for _, verb := range k.Verbs {
					cmd.AddCommand(verbCommand(k, verb))
				}
			},
		})
	}
}

func verbCommand(k operator.Kind, verb string) *cobra.Command {
	cmd := &cobra.Command{Use: verb}
	one := cmp.Or(k.Key, "uuid")
	switch verb {
	case "list":
		cmd.Short, cmd.Args = "Lists "+k.Plural, cobra.NoArgs
		cmd.Flags().String("search", "", "Only those with this text")
		cmd.RunE = run(func(c *operator.Client, cmd *cobra.Command, _ []string) error {
			all, err := c.List(cmd.Context(), k, flagOf(cmd, "search"))
			if err != nil {
				return err
			}
			return show(cmd, all, func() error { return operator.WriteTable(cmd.OutOrStdout(), k, all) })
		})
	case "show":
		cmd.Use, cmd.Short, cmd.Args = "show <"+one+" or uuid>", "Shows a "+k.Name, cobra.ExactArgs(1)
		cmd.RunE = run(func(c *operator.Client, cmd *cobra.Command, args []string) error {
			o, err := c.Show(cmd.Context(), k, args[0])
			return showObject(cmd, o, err)
		})
	case "remove":
		cmd.Use, cmd.Short, cmd.Args = "remove <"+one+" or uuid>", "Removes a "+k.Name, cobra.ExactArgs(1)
		if k.Key == "" {
			cmd.Use, cmd.Short = "remove <uuid>", "Ends a session, and its token with it"
		}
		cmd.RunE = run(func(c *operator.Client, cmd *cobra.Command, args []string) error {
			id, err := c.Remove(cmd.Context(), k, args[0])
			return showObject(cmd, operator.Object{"uuid": id, "removed": true}, err)
		})
	case "set":
		cmd.Use, cmd.Short, cmd.Args = "set <"+one+" or uuid> [<attribute>=<value>...]", "Changes a "+k.Name, cobra.MinimumNArgs(1)
		cmd.Long = "Changes attributes, and keeps the others. No value is null, or an empty list. A list has an argument for each item.\n\n" + k.Describe(false)
		addLinkFlags(cmd, k, "add-", "remove-")
		cmd.RunE = run(func(c *operator.Client, cmd *cobra.Command, args []string) error {
			o, err := c.Set(cmd.Context(), k, args[0], args[1:], operator.Changes{Attach: linked(cmd, k, "add-"), Detach: linked(cmd, k, "remove-")})
			return showObject(cmd, o, err)
		})
	case "add":
		if k.Key == "" {
			return addFlags(loginCommand(cmd))
		}
		cmd.Use, cmd.Short = "add <attribute>=<value>...", "Makes a "+k.Name
		cmd.Long = "A list has an argument for each item.\n\n" + k.Describe(true)
		addLinkFlags(cmd, k, "add-")
		if k.Name == "user" {
			cmd.Long += "\n\nOn a terminal it asks for the password; an empty one makes a user who cannot log in."
			cmd.Flags().Bool("password-stdin", false, "Read the password from standard input")
		}
		cmd.Args = cobra.MinimumNArgs(1)
		cmd.RunE = run(func(c *operator.Client, cmd *cobra.Command, args []string) error {
			password, err := passwordOfNew(cmd, k)
			if err != nil {
				return err
			}
			o, err := c.Add(cmd.Context(), k, args, password, operator.Changes{Attach: linked(cmd, k, "add-")})
			return showObject(cmd, o, err)
		})
	}
	return addFlags(cmd)
}

// passwordOfNew asks for the password of a new user, on a terminal or if the flag says so.
func passwordOfNew(cmd *cobra.Command, k operator.Kind) (string, error) {
	required := flagOf(cmd, "password-stdin") == "true"
	if k.Name != "user" || !required && !isTerminal(cmd.InOrStdin()) {
		return "", nil
	}
	password, err := readPassword(cmd.InOrStdin(), cmd.ErrOrStderr(), "New password: ")
	if errors.Is(err, errNoPassword) && !required {
		return "", nil
	}
	return password, err
}

func loginCommand(cmd *cobra.Command) *cobra.Command {
	cmd.Use, cmd.Short, cmd.Args = "add <username> --server <address>", "Logs a user in, and prints the token", cobra.ExactArgs(1)
	cmd.Long = "Reads the password from the terminal, or the first line of standard input.\n\n" +
		"    ringfence token add olga --server https://pbx.example.com:8443 --cacert gateway.pem --output token"
	cmd.Flags().String("code", "", "The code of the user's second factor, or a recovery code")
	cmd.Flags().Duration("expiration", 0, "How long the token is valid (default: what the server says)")
	cmd.Flags().String("output", "", "A new file for the token, which only its owner may read, instead of standard output")
	login := run(func(c *operator.Client, cmd *cobra.Command, args []string) error {
		expiration, err := cmd.Flags().GetDuration("expiration")
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("expiration") && expiration < time.Second {
			return errors.New("--expiration must be 1s or more, such as 30m or 12h")
		}
		file := flagOf(cmd, "output")
		if _, err := os.Lstat(file); file != "" && err == nil { // before a session begins that nobody could use
			return fmt.Errorf("%s exists, and is not replaced: name another file, or remove it", file)
		}
		password, err := readPassword(cmd.InOrStdin(), cmd.ErrOrStderr(), "Password: ")
		if err != nil {
			return err
		}
		o, err := c.Login(cmd.Context(), args[0], password, flagOf(cmd, "code"), int64(expiration/time.Second))
		if err != nil {
			return err
		}
		token, _ := o["token"].(string)
		if file != "" {
			return private.Create(file, []byte(token+"\n"))
		}
		return show(cmd, o, func() error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		})
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flagOf(cmd, "server") == "" { // only the gateway knows its backends and its limits
			return errors.New("a gateway logs users in: name it with --server")
		}
		return login(cmd, args)
	}
	return cmd
}

func addFlags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("json", false, "Print JSON")
	cmd.Flags().String("tenant", "", "The tenant to act in, by its name or UUID")
	addServerFlags(cmd)
	addPlaceFlags(cmd)
	return cmd
}

func addServerFlags(cmd *cobra.Command) {
	cmd.Flags().String("server", "", "The gateway to speak to: https://host[:port] (default: the database here)")
	cmd.Flags().String("token-file", "", "A file with the token, which only its owner may read (default: the variable RINGFENCE_TOKEN)")
	cmd.Flags().String("cacert", "", "A file with the certificate of the gateway or of its authority (default: those of this system)")
}

func addLinkFlags(cmd *cobra.Command, k operator.Kind, prefixes ...string) {
	for word := range k.Links {
		for _, prefix := range prefixes {
			does := map[string]string{"add-": "Attach a ", "remove-": "Detach a "}[prefix]
			cmd.Flags().StringArray(prefix+word, nil, does+word+", by its name or UUID; may be repeated")
		}
	}
}

func linked(cmd *cobra.Command, k operator.Kind, prefix string) map[string][]string {
	out := map[string][]string{}
	for word := range k.Links {
		if names, err := cmd.Flags().GetStringArray(prefix + word); err == nil {
			out[word] = names
		}
	}
	return out
}

func flagOf(cmd *cobra.Command, name string) string {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// run gives a command a client, of the server or of the database.
func run(do func(c *operator.Client, cmd *cobra.Command, args []string) error) func(cmd *cobra.Command, args []string) error {
	return runIn("tenant", do)
}

// runIn is run for a command with another flag that names the tenant to act in.
func runIn(flag string, do func(c *operator.Client, cmd *cobra.Command, args []string) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		var c *operator.Client
		if server := flagOf(cmd, "server"); server != "" {
			c, err = remoteClient(cmd, server)
		} else {
			var closeAll func() error
			if c, closeAll, err = localClient(cmd); err == nil {
				defer func() { err = errors.Join(err, closeAll()) }()
			}
		}
		if err != nil {
			return err
		}
		if name := flagOf(cmd, flag); name != "" {
			if c.Tenant, err = c.FindTenant(cmd.Context(), name); err != nil {
				return err
			}
		}
		return do(c, cmd, args)
	}
}

const remoteTimeout = time.Minute

func remoteClient(cmd *cobra.Command, server string) (*operator.Client, error) {
	if err := operator.CheckServer(server); err != nil {
		return nil, err
	}
	if flagOf(cmd, "data") != "" || flagOf(cmd, "database") != "" {
		return nil, errors.New("--server speaks to a gateway, and --data and --database name a database here: use one of them")
	}
	return clientOf(server, "RINGFENCE_TOKEN", flagOf(cmd, "token-file"), flagOf(cmd, "cacert"))
}

// clientOf returns a client of a server, with the token of a file, or of a variable if there is none.
func clientOf(server, variable, tokenFile, caCert string) (*operator.Client, error) {
	token := os.Getenv(variable)
	if tokenFile != "" {
		text, err := private.Read(tokenFile, 1<<10)
		if err != nil {
			return nil, fmt.Errorf("reading the token: %w", err)
		}
		token = string(text)
	}
	roots, err := webaddress.Roots(caCert)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &operator.Client{
		Server: server, Token: strings.TrimSpace(token),
		HTTP: &http.Client{Transport: transport, CheckRedirect: operator.NoRedirects, Timeout: remoteTimeout},
	}, nil
}

// localClient returns a client of the services on the database here, for the operator of this machine: of the gateway that has the database
// open if no other process can open it, and otherwise of this process.
func localClient(cmd *cobra.Command) (c *operator.Client, closeAll func() error, err error) {
	for _, name := range []string{"token-file", "cacert"} {
		if flagOf(cmd, name) != "" {
			return nil, nil, fmt.Errorf("--%s is for --server", name)
		}
	}
	ctx := context.WithoutCancel(cmd.Context())
	c, closeAll, err = servedFrom(ctx, placeOf(cmd).database)
	if errors.Is(err, sqlite.ErrInUse) {
		c, err := socketClient(ctx, cmd, err)
		return c, func() error { return nil }, err
	}
	return c, closeAll, err
}

// socketClient returns a client of the gateway that has the embedded database open, at its admin socket. inUse is why the database cannot
// be opened.
func socketClient(ctx context.Context, cmd *cobra.Command, inUse error) (*operator.Client, error) {
	at := placeOf(cmd)
	file, err := filepath.Abs(strings.TrimPrefix(at.database, open.SQLiteScheme))
	if err != nil {
		return nil, err
	}
	socket := os.Getenv("RINGFENCE_ADMIN_SOCKET") // has a default
	if flagOf(cmd, "data") != "" {
		socket = filepath.Join(at.data, "admin.sock")
	}
	c := operator.AtSocket(socket, file)
	if err = c.Reach(ctx); err == nil {
		return c, nil
	}
	err = fmt.Errorf("%w; the gateway that has it could not be asked at its admin socket %s (RINGFENCE_ADMIN_SOCKET): %w", inUse, socket, err)
	if cmd.Flags().Lookup("server") == nil {
		return nil, err
	}
	server := "--server https://localhost:" + cmp.Or(os.Getenv("RINGFENCE_HTTPS_PORT"), "8443") + " --cacert " + filepath.Join(at.data, "tls", "certificate.pem")
	return nil, fmt.Errorf("%w; speak to it with a token: \"ringfence token add admin %[2]s --output token\", then \"%[3]s %[2]s --token-file token\"",
		err, server, cmd.CommandPath())
}

// show prints a value as JSON if that is asked for, or in a form for people.
func show(cmd *cobra.Command, v any, people func() error) error {
	if flagOf(cmd, "json") != "true" {
		return people()
	}
	text, err := operator.JSON(v)
	if err == nil {
		_, err = cmd.OutOrStdout().Write(text)
	}
	return err
}

func showObject(cmd *cobra.Command, o operator.Object, err error) error {
	if err != nil {
		return err
	}
	return show(cmd, o, func() error { return operator.WriteObject(cmd.OutOrStdout(), o) })
}
