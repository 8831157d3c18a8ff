package commands

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/ami"
	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/asterisk/leftout"
	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/doctor"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/open"
)

func init() {
	Register(caddycmd.Command{
		Name:  "doctor",
		Usage: "[--config <file>] [--data <folder>] [--database <address>] [--json]",
		Short: "Examines an installation, and says what to do",
		Long: `
Looks at the database and its schema, the sealing key, the certificate, the ports,
the admin API, the daemons behind the gateway, Asterisk, the clocks, the modes of
the files and the space on the disk. It names what is stored and not in Asterisk's
files, such as lines without a login, and why. It changes nothing. The gateway may
run.

Run it as the user that the gateway runs as, with the same environment and the
same Caddyfile. It fails if there is a problem; a warning can wait.

    ringfence doctor
    ringfence doctor --config /etc/ringfence/Caddyfile --json
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.Args = cobra.NoArgs
			cmd.RunE = runDoctor
			cmd.Flags().String("config", "", "The configuration of the gateway (default: the file Caddyfile here, if there is one)")
			cmd.Flags().Bool("json", false, "Print the findings as JSON")
			addPlaceFlags(cmd)
		},
	})
}

func runDoctor(cmd *cobra.Command, _ []string) error {
	i, err := installationOf(cmd)
	if err != nil {
		return err
	}
	findings := doctor.Examine(cmd.Context(), i)
	out := cmd.OutOrStdout()
	if flagOf(cmd, "json") == "true" {
		err = json.NewEncoder(out).Encode(findings)
	} else {
		err = writeFindings(out, findings)
	}
	if err == nil && doctor.Worst(findings) == doctor.Problem {
		err = errors.New("there are problems; see above")
	}
	return err
}

func writeFindings(out io.Writer, findings []doctor.Finding) error {
	for _, f := range findings {
		if _, err := fmt.Fprintf(out, "%-8s %s: %s\n", f.State, f.Subject, f.Text); err != nil {
			return err
		}
		if f.Advice == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "%-8s %s\n", "", f.Advice); err != nil {
			return err
		}
	}
	return nil
}

// installationOf returns what the flags, the configuration and the environment say, in this order.
func installationOf(cmd *cobra.Command) (i doctor.Installation, err error) {
	text, err := adapted(flagOf(cmd, "config"))
	if err != nil {
		return i, err
	}
	return Installation(text, flagOf(cmd, "data"), flagOf(cmd, "database"))
}

// Installation returns what a configuration of Caddy, as JSON, and the environment say of an installation. Without a configuration, text is nil;
// data and database, unless they are empty, count before both.
func Installation(text []byte, data, database string) (i doctor.Installation, err error) {
	replacer := caddy.NewReplacer()
	replace := func(text string) string { return replacer.ReplaceAll(text, "") }
	var app struct {
		Data, Database string
		SealingKeys    string `json:"sealing_keys"`
		PublicURL      string `json:"public_url"`
		Asterisk       struct{ Manager, Username, Secret, Interfaces, Etc, Recordings string }
		Mail           *struct{}
		Helpers        struct{ Voicemail, MOH, Sounds string }
	}
	if text != nil {
		var config struct {
			Apps struct{ Ringfence json.RawMessage }
		}
		if err := json.Unmarshal(text, &config); err != nil {
			return i, fmt.Errorf("reading the configuration: %w", doctor.Readable(err))
		}
		if config.Apps.Ringfence != nil {
			if err := json.Unmarshal(config.Apps.Ringfence, &app); err != nil {
				return i, fmt.Errorf("reading the option ringfence of the configuration: %w", doctor.Readable(err))
			}
		}
		if i.Config, err = doctor.ReadConfig(text, caddy.DefaultAdminListen, replace); err != nil {
			return i, err
		}
	}
	setting := func(configured, env, fallback string) string {
		return cmp.Or(replace(configured), os.Getenv(env), fallback)
	}
	i.Data = cmp.Or(data, setting(app.Data, "RINGFENCE_DATA", "data"))
	i.Database = cmp.Or(database, setting(app.Database, "RINGFENCE_DATABASE", open.SQLiteScheme+filepath.Join(i.Data, "ringfence.db")))
	i.SealingKeys = setting(app.SealingKeys, "RINGFENCE_SEALING_KEYS", "")
	i.PublicURL = setting(app.PublicURL, "RINGFENCE_PUBLIC_URL", "")
	etc := setting(app.Asterisk.Etc, "RINGFENCE_ASTERISK_ETC", "/etc/asterisk")
	i.Music = []string{setting(app.Helpers.MOH, "RINGFENCE_MOH_FOLDER", filepath.Join(i.Data, "asterisk", "moh")), asterisk.DefaultMusic(etc)}
	for _, folder := range []string{
		setting(app.Helpers.Voicemail, "RINGFENCE_VOICEMAIL_FOLDER", ""), setting(app.Helpers.MOH, "RINGFENCE_MOH_FOLDER", ""),
		setting(app.Helpers.Sounds, "RINGFENCE_SOUNDS_FOLDER", ""),
	} {
		if folder != "" { // otherwise it is the gateway's own
			i.Folders = append(i.Folders, folder)
		}
	}
	i.Manager = ami.Options{
		Address:  setting(app.Asterisk.Manager, "RINGFENCE_ASTERISK_MANAGER", ""),
		Username: setting(app.Asterisk.Username, "RINGFENCE_ASTERISK_USERNAME", "ringfence"),
		Secret:   setting(app.Asterisk.Secret, "RINGFENCE_ASTERISK_SECRET", ""),
	}
	options := asterisk.Options{Interfaces: strings.Fields(setting(app.Asterisk.Interfaces, "RINGFENCE_ASTERISK_INTERFACES", ""))}
	if text != nil { // otherwise nobody knows whether there is a mail server
		recordings := setting(app.Asterisk.Recordings, "RINGFENCE_ASTERISK_RECORDINGS", asterisk.Recordings(i.Manager.Address))
		options.NoFaxes = asterisk.NoFaxes(recordings, app.Mail != nil)
	}
	i.Telephony = telephony(options, etc)
	return i, nil
}

// telephony returns what Asterisk's files lack of what is stored, and the dialplan among them. Asterisk's own files are in the folder etc.
func telephony(o asterisk.Options, etc string) func(ctx context.Context, db store.DB) ([]leftout.Omission, *conf.Dialplan, error) {
	return func(ctx context.Context, db store.DB) (left []leftout.Omission, dialplan *conf.Dialplan, err error) {
		snapshot, err := confdsvc.NewSnapshots(db).Read(ctx)
		if err != nil {
			return nil, nil, err
		}
		var faults []leftout.Omission
		o.Taken, faults = asterisk.ReadTaken(etc)
		files, left, err := asterisk.Generate(snapshot, o)
		if err != nil {
			return nil, nil, err
		}
		parsed, err := conf.Parse(files["extensions.conf"])
		if err == nil {
			dialplan, err = conf.ParseDialplan(parsed)
		}
		return append(faults, left...), dialplan, err
	}
}

// ReadConfig returns what a configuration file says, or nil if none is named and there is no Caddyfile here.
func ReadConfig(file string) (*doctor.Config, error) {
	text, err := adapted(file)
	if text == nil || err != nil {
		return nil, err
	}
	replacer := caddy.NewReplacer()
	return doctor.ReadConfig(text, caddy.DefaultAdminListen, func(text string) string { return replacer.ReplaceAll(text, "") })
}

// adapted returns a configuration file as JSON, or nil if none is named and there is no Caddyfile here.
func adapted(file string) ([]byte, error) {
	name := cmp.Or(file, "Caddyfile")
	text, err := os.ReadFile(name) //nolint:gosec // the operator's own file
	if file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("reading the configuration: %s is empty", name)
	}
	if strings.HasSuffix(name, ".json") {
		return text, nil
	}
	out, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(text, map[string]any{"filename": name})
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return out, nil
}
