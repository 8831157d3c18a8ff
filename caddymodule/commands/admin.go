package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ringfence/ringfence/authsvc"
	"github.com/ringfence/ringfence/internal/operator"
)

func init() {
	Register(caddycmd.Command{
		Name:  "admin",
		Usage: "reset-password <username> [--stdin] [--administrator] [--without-second-factor] | answer-for <user> [--data <folder>] [--database <address>]",
		Short: "Lets users in again from this machine",
		Long: `
What an operator of this machine does without logging in. It works on the
database itself: run it as the user that the gateway runs as, with the same
RINGFENCE_DATA and RINGFENCE_DATABASE.
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.AddCommand(resetPasswordCommand(), answerForCommand())
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

A second factor stays in force, unless --without-second-factor says that the user
has lost it.

The gateways go on, and forget the user's sessions at once. One that has the
embedded database is asked to do it, through its admin socket.

    ringfence admin reset-password admin --administrator
    ringfence admin reset-password alice --stdin < new-password
`,
		Args: cobra.ExactArgs(1),
		RunE: resetPassword,
	}
	cmd.Flags().Bool("stdin", false, "Read the new password from standard input instead of making one")
	cmd.Flags().Bool("administrator", false, "Give the user every access again")
	cmd.Flags().Bool("without-second-factor", false, "Also remove the user's second factor")
	addPlaceFlags(cmd)
	return cmd
}

func resetPassword(cmd *cobra.Command, args []string) error {
	at := placeOf(cmd)
	recovery := authsvc.Recovery{
		Username: args[0], Administrator: flagOf(cmd, "administrator") == "true", DropSecondFactor: flagOf(cmd, "without-second-factor") == "true",
	}
	given := flagOf(cmd, "stdin") == "true"
	if given {
		var err error
		if recovery.Password, err = readPassword(cmd.InOrStdin(), cmd.ErrOrStderr(), "New password: "); err != nil {
			return err
		}
	}
	credentials := filepath.Join(at.data, "admin-credentials")
	kept, keptErr := firstUser(credentials) // now: a gateway that runs removes the file itself
	var done authsvc.Recovered
	if err := askLocal(cmd, operator.RecoverPath, recovery, &done); err != nil {
		return err
	}
	if !given {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "username: %s\npassword: %s\n", done.Username, done.Password); err != nil {
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
	if kept == done.Username {
		if err := os.Remove(credentials); err != nil && !errors.Is(err, os.ErrNotExist) {
			keptErr = err
		} else {
			notes = append(notes, credentials+", which had the old password, was removed.")
		}
	}
	for _, note := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
	if keptErr != nil {
		return fmt.Errorf("the password is set; the credentials of the first start, which may be out of date, cannot be removed: %w", keptErr)
	}
	return nil
}

func answerForCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "answer-for <user>",
		Short: "Answers for the logins that a user has set up for others",
		Long: `
A password, an address or a directory lets somebody in only while the account
that set it holds all that the user holds, in the user's tenant or above it.
When an administrator loses rights, or a tenant moves away from them, those whose
logins they have set up may be refused, and the gateway's log says so ("set_by").

This command lets them in again: from now on nobody answers for what that
administrator has set up but the operator of this machine. The administrator
still knows the passwords that were never changed: have the users change them.

The user is named by username, address or UUID, and may be deleted. The gateways
go on. One that has the embedded database is asked to do it, through its admin
socket.

    ringfence admin answer-for alice
`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var done authsvc.Answered
			err := askLocal(cmd, operator.AnswerForPath, authsvc.Vouching{User: args[0]}, &done)
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s had set up %d ways to log in for others. They depend on nobody now.\n", args[0], done.Ways)
			}
			return err
		},
	}
	addPlaceFlags(cmd)
	return cmd
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

// askLocal has the services on the database of the command's gateway do something: in the gateway, or in this process.
func askLocal(cmd *cobra.Command, path string, what, done any) (err error) {
	c, closeAll, err := localClient(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	return c.Call(cmd.Context(), http.MethodPost, path, what, done)
}

// firstUser returns the user whose password the credentials of the first start have, or "" if there are none.
func firstUser(file string) (string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // below the data folder
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "username: "), err
}
