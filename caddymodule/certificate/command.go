package certificate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/caddymodule/commands"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/selfsigned"
)

func init() {
	commands.Register(caddycmd.Command{
		Name:  "certificate",
		Usage: "[--config <file>] [--data <folder>] [--pem]",
		Short: "Shows the gateway's certificate and its fingerprint",
		Long: `
Shows where the gateway's self-signed certificate is, the names and addresses it
is for, how long it is valid, and the SHA-256 fingerprint to compare with the one
that a browser shows before you accept it.

Makes the certificate if there is none yet, as the gateway does at its first
start; run it as the user that the gateway runs as.

With --pem it prints the certificate alone, for clients that take a file:

    ringfence certificate --pem > gateway.pem
    curl --cacert gateway.pem https://localhost:8443/

If the configuration (the file Caddyfile here, if --config names none) has a
certificate of an authority served in its place, it shows that one.
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Flags().String("config", "", "The configuration of the gateway (default: the file Caddyfile here, if there is one)")
			cmd.Flags().String("data", "", "The data folder (default: $RINGFENCE_DATA, else ./data)")
			cmd.Flags().Bool("pem", false, "Print the certificate in PEM and nothing else")
			cmd.Args = cobra.NoArgs
			cmd.RunE = showCertificate
		},
	})
}

func showCertificate(cmd *cobra.Command, _ []string) error {
	flag := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
	onlyPEM := flag("pem") == "true"
	config, err := commands.ReadConfig(flag("config"))
	if err != nil {
		return err
	}
	if config != nil && !config.SelfSigned && len(config.Certificates)+len(config.Managed) > 0 {
		return showIssued(cmd.OutOrStdout(), config, onlyPEM)
	}
	folder, err := folderOf(flag("data"))
	if err != nil {
		return err
	}
	options := selfsigned.Options{OnReplace: func(r selfsigned.Replacement) {
		fmt.Fprintf(cmd.ErrOrStderr(), "Another certificate is served than before: the old one %s.\nold SHA-256  %s\nnew SHA-256  %s\n", r.Reason, r.Old, r.New)
	}}
	if _, err := os.Stat(filepath.Join(folder, "certificate.pem")); errors.Is(err, fs.ErrNotExist) {
		// The gateway decides which names an existing certificate must have.
		options.Names = hostOf(publicURLOfTheEnvironment())
	}
	store, err := selfsigned.Open(folder, options)
	if err != nil {
		return err
	}
	defer store.Close()

	out := cmd.OutOrStdout()
	if onlyPEM {
		_, err := out.Write(store.PEM())
		return err
	}
	note := ""
	if store.Created() {
		note = " (made just now)"
	}
	leaf := store.Certificate().Leaf
	_, err = fmt.Fprintf(out, "file         %s%s\nfor          %s\nvalid        %s to %s, renewed before that with the same key\nSHA-256      %s\n",
		store.Path(), note, strings.Join(store.Names(), ", "),
		leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly), store.Fingerprint())
	return err
}

// showIssued shows the certificates that are served in the place of the gateway's own.
func showIssued(out io.Writer, config *doctor.Config, onlyPEM bool) error {
	if onlyPEM {
		return errors.New("an authority has issued the gateway's certificate: clients that trust it need no file; give others the authority's own certificate")
	}
	all, err := config.Issued()
	for i, c := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		leaf := c.Certificate
		fmt.Fprintf(out, "file         %s\nissued by    %s\nfor          %s\nvalid        %s to %s\nSHA-256      %s\n",
			c.File, leaf.Issuer, strings.Join(selfsigned.NamesOf(leaf), ", "),
			leaf.NotBefore.Format(time.DateOnly), leaf.NotAfter.Format(time.DateOnly), selfsigned.FingerprintOf(leaf))
	}
	return err
}
