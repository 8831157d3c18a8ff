package commands

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/authsvc"
)

func init() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "admin",
		Usage: "reset-password <username> [--stdin] [--administrator] [--data <folder>] [--database <address>]",
		Short: "Lets users in again from this machine",
		Long: `
What an operator of this machine does without logging in. It works on the
database itself: run it as the user that the gateway runs as, with the same
RINGFENCE_DATA and RINGFENCE_DATABASE.
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.AddCommand(resetPasswordCommand())
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		},
	})
}

func resetPasswordCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset-password <username>",
		Short: "Gives a user a new password, and enables the user",
		Long: `
Gives a user a new password and prints it, once. One that is read from standard
input has 8 characters at least. The user is enabled, logs in
with this password from now on, and has no sessions left.

With --administrator the user also gets every access again, by the policy of the
first administrator. The user must be in the master tenant.

A gateway on the embedded database must be stopped first. On PostgreSQL the
gateways go on, and forget the user's sessions at once.

    ringfence admin reset-password admin --administrator
    ringfence admin reset-password alice --stdin < new-password
`,
		Args:         cobra.ExactArgs(1),
		SilenceUsage: true,
		RunE:         resetPassword,
	}
	cmd.Flags().Bool("stdin", false, "Read the new password from standard input instead of making one")
	cmd.Flags().Bool("administrator", false, "Give the user every access again")
	addPlaceFlags(cmd)
	return cmd
}

func resetPassword(cmd *cobra.Command, args []string) error {
	flag := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
	at := placeOf(cmd)
	recovery := authsvc.Recovery{Username: args[0], Password: rand.Text(), Administrator: flag("administrator") == "true"}
	given := flag("stdin") == "true"
	if given {
		var err error
		if recovery.Password, err = readPassword(cmd.InOrStdin(), cmd.ErrOrStderr(), "New password: "); err != nil {
			return err
		}
	}
	done, err := recoverUser(cmd.Context(), at.database, recovery)
	if err != nil {
		return err
	}
	if !given {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "username: %s\npassword: %s\n", done.Username, recovery.Password); err != nil {
			return err
		}
	}
	var notes []string
	if given {
		notes = append(notes, fmt.Sprintf("The password of %s is set.", done.Username))
	}
	if len(done.Denials) > 0 {
		notes = append(notes, fmt.Sprintf("Other policies of %s still deny %s.", done.Username, strings.Join(done.Denials, ", ")))
	}
	removed, err := removeStaleCredentials(filepath.Join(at.data, "admin-credentials"), done.Username)
	if removed != "" {
		notes = append(notes, removed)
	}
	for _, note := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	return err
}

var errNoPassword = errors.New("the first line of standard input must be the password, and is empty")

// readPassword reads one line, without echo on a terminal.
func readPassword(in io.Reader, out io.Writer, prompt string) (string, error) {
	var line string
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(out, prompt)
		typed, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(out)
		if err != nil {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		line = string(typed)
	} else {
		read, err := bufio.NewReader(io.LimitReader(in, 2*authsvc.MaxPassword)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		line = strings.TrimSuffix(strings.TrimSuffix(read, "\n"), "\r")
	}
	if line == "" {
		return "", errNoPassword
	}
	return line, nil
}

// recoverUser recovers the user's account in the database of a gateway.
func recoverUser(ctx context.Context, address string, recovery authsvc.Recovery) (done authsvc.Recovered, err error) {
	db, err := openExisting(ctx, address)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := authsvc.New(authsvc.Options{DB: db})
	if err != nil {
		return done, fmt.Errorf("describing the authentication service: %w", err)
	}
	return s.Recover(ctx, recovery)
}

// removeStaleCredentials removes the first start's credentials file if it is this user's, since its password is now wrong.
func removeStaleCredentials(file, username string) (note string, err error) {
	text, err := os.ReadFile(file) //nolint:gosec // below the data folder
	first, _, _ := strings.Cut(string(text), "\n")
	if errors.Is(err, os.ErrNotExist) || err == nil && first != "username: "+username {
		return "", nil
	}
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		return "", fmt.Errorf("removing the outdated credentials of the first start: %w", err)
	}
	return file + ", which had the old password, was removed.", nil
}
