package caddymodule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/ringfence/ringfence/asterisk"
	"github.com/ringfence/ringfence/asterisk/generation"
	"github.com/ringfence/ringfence/caddymodule/commands"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	commands.Register(caddycmd.Command{
		Name:  "asterisk",
		Usage: "install --etc <folder> [--folder <folder>] [--yes]",
		Short: "Prepares an Asterisk on this machine",
		Long: `
What an operator does once on a machine with Asterisk.
`,
		CobraFunc: func(cmd *cobra.Command) {
			cmd.AddCommand(installCommand())
		},
	})
}

func installCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Makes Asterisk's own files load the generated ones",
		Long: `
Adds a last line to each of Asterisk's files that have a generated part, which
loads that part, and writes the files that are missing, but for iax.conf and
hep.conf: Asterisk listens for IAX as soon as there is the first. It shows the
changes, and asks before it makes them. Nothing else in the files is changed, and
a file that has its line already stays as it is. The generated files may be
missing: Asterisk then loads the rest.

    ringfence asterisk install --etc /etc/asterisk
`,
		Args: cobra.NoArgs,
		RunE: runInstall,
	}
	cmd.Flags().String("etc", "", "The folder of Asterisk's own files: /etc/asterisk")
	cmd.Flags().String("folder", "", "The folder of the generated files (default: $RINGFENCE_ASTERISK_FOLDER, else asterisk in $RINGFENCE_DATA or ./data)")
	cmd.Flags().Bool("yes", false, "Make the changes without asking")
	return cmd
}

func runInstall(cmd *cobra.Command, _ []string) error {
	flag := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
	if flag("etc") == "" {
		return errors.New("--etc must be the folder of Asterisk's own files, such as /etc/asterisk")
	}
	app := &App{Asterisk: &Asterisk{Folder: flag("folder")}}
	app.resolve(caddy.NewReplacer())
	folder, err := filepath.Abs(app.Asterisk.Folder)
	if err != nil {
		return err
	}
	etc, err := os.OpenRoot(flag("etc"))
	if err != nil {
		return fmt.Errorf("opening the folder of Asterisk's own files: %w", err)
	}
	defer func() { _ = etc.Close() }()
	changes, err := installation(etc, filepath.Join(folder, "live"))
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if err := writeClashes(out, flag("etc")); err != nil {
		return err
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintln(out, "nothing is to be changed")
		return err
	}
	for _, c := range changes {
		if _, err := io.WriteString(out, generation.Diff(c.name, c.before, c.after)); err != nil {
			return err
		}
	}
	if flag("yes") != "true" {
		fmt.Fprint(cmd.ErrOrStderr(), "Make these changes? [y/N] ")
		answer, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 100)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return errors.New("nothing was changed")
		}
	}
	for _, c := range changes {
		if err := c.write(etc); err != nil {
			return fmt.Errorf("writing %s: %w", c.name, err)
		}
	}
	_, err = fmt.Fprintln(out, "done: now let Asterisk load its configuration again, for instance by a restart")
	return err
}

// writeClashes names what of Asterisk's own files stands in the way of the generated ones, whatever is stored. What clashes with
// stored objects, "ringfence doctor" names.
func writeClashes(out io.Writer, etc string) error {
	taken, left := asterisk.ReadTaken(etc)
	_, clashes, err := asterisk.Generate(&confdsvc.Snapshot{}, asterisk.Options{Taken: taken})
	for _, o := range append(left, clashes...) {
		_, printed := fmt.Fprintln(out, "warning: "+o.String())
		err = errors.Join(err, printed)
	}
	return err
}

// ownFile is how one of Asterisk's own files changes.
type ownFile struct {
	name          string
	before, after []byte
	info          fs.FileInfo // nil: there is no file yet
}

// installation returns how the files change, by name.
func installation(etc *os.Root, live string) ([]ownFile, error) {
	static, err := asterisk.Static(live)
	if err != nil {
		return nil, err
	}
	var changes []ownFile
	for _, name := range slices.Sorted(maps.Keys(static)) {
		c := ownFile{name: name, after: static[name]}
		c.info, err = etc.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && slices.Contains(asterisk.Optional, name):
			continue
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, c)
			continue
		case err != nil:
			return nil, err
		}
		if c.before, err = etc.ReadFile(name); err != nil {
			return nil, err
		}
		include := lastLine(static[name])
		if hasLine(c.before, include) {
			continue
		}
		c.after = bytes.Clone(c.before)
		if len(c.after) > 0 && c.after[len(c.after)-1] != '\n' {
			c.after = append(c.after, '\n')
		}
		c.after = append(append(c.after, include...), '\n')
		changes = append(changes, c)
	}
	return changes, nil
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}

// hasLine reports whether a file has a line, whatever blanks are around it.
func hasLine(text, line []byte) bool {
	for l := range bytes.Lines(text) {
		if bytes.Equal(bytes.TrimSpace(l), line) {
			return true
		}
	}
	return false
}

// write writes the file as a whole, with the owner and the mode that it had, or those of the folder. If it is interrupted, the file is
// as it was before, and a file beside it is left, whose name ends in .ringfence.
func (c ownFile) write(etc *os.Root) error {
	mode, like := fs.FileMode(0o640), c.info
	if like != nil {
		mode = like.Mode().Perm()
	} else {
		var err error
		if like, err = etc.Stat("."); err != nil {
			return err
		}
	}
	beside := c.name + ".ringfence"
	if err := etc.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := etc.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if owner, ok := like.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		err = f.Chown(int(owner.Uid), int(owner.Gid))
	}
	if err == nil {
		_, err = f.Write(c.after)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return etc.Rename(beside, c.name)
}
