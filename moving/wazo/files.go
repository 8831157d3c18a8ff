package wazo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
	"github.com/ringfence/ringfence/moving/report"
)

// Files copies the files of the platform's backup of its data (data.tgz), which is unpacked in a folder, for what was imported before. Files that are
// there already stay, or are written once more: it may be interrupted, and run again.
type Files struct {
	DB   store.DB `json:"-"`
	From string   `json:"-"`
	// Audio are the folders of music and sounds, Voicemail that of voicemails, and Recordings that into which recordings of calls go, which nothing here
	// reads.
	Audio      confdsvc.AudioFolders `json:"-"`
	Voicemail  string                `json:"-"`
	Recordings string                `json:"-"`

	// Copied is how many files there are now, by kind, and Left are those that were left.
	Copied map[string]int `json:"copied"`
	Left   []report.Told  `json:"left_out"`

	from  *os.Root
	confd *rest.Service
	me    *principal.Principal
}

// The folders of the backup, and those of the platform's sounds that are none of confd's.
const (
	musicFolder     = "var/lib/asterisk/moh"
	soundsFolder    = "var/lib/wazo/sounds/tenants"
	voicemailFolder = "var/spool/asterisk/voicemail"
	recordings      = "monitor"
)

// Copy copies the files. What our service refuses is left, and told.
func (f *Files) Copy(ctx context.Context) (err error) {
	if f.from, err = os.OpenRoot(f.From); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.from.Close()) }()
	if _, err := f.from.Stat("var"); err != nil {
		return fmt.Errorf("%s: it has no folder var: unpack the platform's data.tgz in it", f.From)
	}
	f.Copied = map[string]int{}
	if f.confd, err = confdsvc.New(confdsvc.Options{DB: f.DB, Audio: func() confdsvc.AudioFolders { return f.Audio }}); err != nil {
		return err
	}
	if f.me, err = local.Caller(ctx, f.DB, "#"); err != nil {
		return err
	}
	for _, folder := range []string{string(f.Audio.MOH), string(f.Audio.Sounds), f.Voicemail, f.Recordings} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
	}
	return errors.Join(f.music(ctx), f.sounds(ctx), f.voicemails(ctx))
}

// entries returns what a folder of the backup has; nothing if it is not there.
func (f *Files) entries(folder string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(f.from.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

func (f *Files) leave(kind, name, reason string) {
	f.Left = append(f.Left, report.Told{Kind: kind, Object: name, Reason: reason})
}

func (f *Files) music(ctx context.Context) error {
	folders, err := f.entries(musicFolder)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		of, err := store.Select[struct {
			UUID   string `db:"uuid"`
			Tenant string `db:"tenant"`
		}](ctx, f.DB, `SELECT CAST(uuid AS text) AS uuid, CAST(tenant_uuid AS text) AS tenant FROM confd_moh WHERE name = $1 AND mode = 'files'`, folder.Name())
		if err != nil {
			return err
		}
		if len(of) == 0 {
			f.leave("music", folder.Name(), "no music has this folder")
			continue
		}
		files, err := f.entries(path.Join(musicFolder, folder.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			name := path.Join(musicFolder, folder.Name(), file.Name())
			if err := f.send(ctx, "music", of[0].Tenant, "/moh/"+of[0].UUID+"/files/"+plainName(file.Name()), name, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// notPlain are the signs that the names of our files do not have.
var notPlain = regexp.MustCompile(`^\.+|[^A-Za-z0-9._-]`)

func plainName(name string) string { return notPlain.ReplaceAllString(name, "_") }

// send sends a file to our own service, which checks it and gives it its place.
func (f *Files) send(ctx context.Context, kind, tenantUUID, to, name string, file fs.DirEntry) error {
	if !file.Type().IsRegular() {
		f.leave(kind, name, "it is no plain file")
		return nil
	}
	in, err := f.from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	r, err := http.NewRequestWithContext(principal.NewContext(ctx, f.me), http.MethodPut, "http://localhost"+f.confd.Prefix+to, in)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Accept", "application/json")
	r.Header.Set(tenant.Header, tenantUUID)
	answer, err := local.Transport{Handler: f.confd}.RoundTrip(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("keeping %s: %s", name, answer.Status)
	case answer.StatusCode >= http.StatusBadRequest:
		text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		f.leave(kind, name, strings.Trim(string(bytes.TrimSpace(text)), `[]"`))
		return err
	}
	f.Copied[kind]++
	return nil
}

// sounds copies the sounds of each tenant, by their categories.
func (f *Files) sounds(ctx context.Context) error {
	tenants, err := f.entries(soundsFolder)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		known, err := store.Get[int](ctx, f.DB, `SELECT count(*) FROM auth_tenant WHERE CAST(uuid AS text) = $1`, t.Name())
		if err != nil {
			return err
		}
		if known == 0 {
			f.leave("sounds", t.Name(), "no tenant has this folder")
			continue
		}
		categories, err := f.entries(path.Join(soundsFolder, t.Name()))
		if err != nil {
			return err
		}
		for _, c := range categories {
			folder := path.Join(soundsFolder, t.Name(), c.Name())
			if c.Name() == recordings {
				err = f.tree("recordings", folder, audio.Folder(f.Recordings), t.Name(), recordings)
			} else if c.IsDir() {
				err = f.category(ctx, t.Name(), c.Name(), folder)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Files) category(ctx context.Context, tenantUUID, name, folder string) error {
	err := local.Call(ctx, f.confd, f.me, tenantUUID, http.MethodPost, "/sounds", map[string]any{"name": name}, nil)
	if refused, ok := errors.AsType[*local.RefusedError](err); ok {
		err = local.Call(ctx, f.confd, f.me, tenantUUID, http.MethodGet, "/sounds/"+url.PathEscape(name), nil, &json.RawMessage{})
		if err != nil { // it is not there already
			f.leave("sounds", folder, strings.Trim(string(bytes.TrimSpace(refused.Body)), `[]"`))
			return nil
		}
	}
	if err != nil {
		return err
	}
	files, err := f.entries(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !file.IsDir() {
			err = f.sound(ctx, tenantUUID, name, "", folder, file)
		} else {
			spoken, errOf := f.entries(path.Join(folder, file.Name()))
			err = errOf
			for _, one := range spoken {
				if err == nil {
					err = f.sound(ctx, tenantUUID, name, file.Name(), path.Join(folder, file.Name()), one)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Files) sound(ctx context.Context, tenantUUID, category, language, folder string, file fs.DirEntry) error {
	query := url.Values{}
	if language != "" {
		query.Set("language", language)
	}
	if declared := audio.Declared(file.Name()); declared != "" {
		query.Set("format", declared)
	}
	name := plainName(strings.TrimSuffix(file.Name(), path.Ext(file.Name())))
	return f.send(ctx, "sounds", tenantUUID, "/sounds/"+url.PathEscape(category)+"/files/"+name+"?"+query.Encode(), path.Join(folder, file.Name()), file)
}

type mailbox struct {
	Context string `db:"context"`
	Number  string `db:"number"`
}

func (f *Files) voicemails(ctx context.Context) error {
	boxes, err := store.Select[mailbox](ctx, f.DB, `SELECT context, number FROM confd_voicemail ORDER BY context, number`)
	if err != nil {
		return err
	}
	for _, b := range boxes {
		if !fs.ValidPath(b.Context+"/"+b.Number) || strings.Contains(b.Context+b.Number, "/") {
			continue
		}
		if err := f.tree("voicemails", path.Join(voicemailFolder, b.Context, b.Number), audio.Folder(f.Voicemail), b.Context, b.Number); err != nil {
			return err
		}
	}
	contexts, err := f.entries(voicemailFolder)
	for _, c := range contexts {
		numbers, errOf := f.entries(path.Join(voicemailFolder, c.Name()))
		err = errors.Join(err, errOf)
		for _, n := range numbers {
			if !slices.Contains(boxes, mailbox{c.Name(), n.Name()}) {
				f.leave("voicemails", path.Join(c.Name(), n.Name()), "no voicemail has this folder")
			}
		}
	}
	return err
}

// tree copies the plain files of a folder and of the folders in it, below a place in another one.
func (f *Files) tree(kind, folder string, into audio.Folder, place ...string) error {
	if _, err := f.from.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fs.WalkDir(f.from.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		target := append(slices.Clone(place), strings.Split(strings.TrimPrefix(name, folder+"/"), "/")...)
		if !entry.Type().IsRegular() {
			f.leave(kind, name, "it is no plain file")
			return nil
		}
		if there, _, err := into.Open(target...); err == nil {
			f.Copied[kind]++ // it was copied before, or is newer
			return there.Close()
		}
		reason, err := f.copy(name, into, target)
		switch {
		case err != nil:
			return fmt.Errorf("copying %s: %w", name, err)
		case reason != "":
			f.leave(kind, name, reason)
		default:
			f.Copied[kind]++
		}
		return nil
	})
}

// longestText is how long what is known of a message may be.
const longestText = 64 << 10

// copy copies one file, which is whole when it has its name. It returns why the file is left, if it is.
func (f *Files) copy(name string, into audio.Folder, target []string) (reason string, err error) {
	in, err := f.from.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	var come *audio.Upload
	if path.Ext(name) != ".txt" {
		come, err = into.Receive(in, audio.Declared(name))
	} else if info, errOf := in.Stat(); errOf != nil || info.Size() > longestText {
		return "it is too long for what is known of a message", errOf
	} else {
		come, err = into.ReceiveText(in)
	}
	if refused, is := errors.AsType[*apierr.Error](err); is && refused.Kind == apierr.Invalid {
		return refused.Message, nil
	}
	if err != nil {
		return "", err
	}
	defer come.Discard()
	return "", come.Keep(target...)
}

// Print writes the report for people.
func (f *Files) Print(w io.Writer) error {
	p := report.NewPrinter(w)
	for _, kind := range []string{"music", "sounds", "voicemails", "recordings"} {
		p.Line("Files of %s that are here: %d", kind, f.Copied[kind])
	}
	p.Groups("Left:", f.Left)
	return p.Err
}
