package confdsvc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// AudioFolders are where files of sound are on this node. A folder that is "" is not there.
type AudioFolders struct {
	// MOH has the files of music on hold.
	MOH audio.Folder
	// Sounds has tenants' own sounds, and System those that Asterisk brings, which are only read.
	Sounds, System audio.Folder
}

const (
	// maxAudio bounds a file, and maxAudioFiles how many an object has.
	maxAudio      = 40 << 20
	maxAudioFiles = 1000
)

// audioFormats says what is taken.
const audioFormats = "A WAV with one channel, 16 bits and 8000 or 16000 Hz, or another format that Asterisk plays: " +
	"`wav49`, Ogg Vorbis, Opus and MP3 are known by their content, `gsm`, `ulaw`, `alaw`, `g722`, `sln`, `sln16` and so on are %s. " +
	"What Asterisk would not play is refused, and nothing is converted. At most 40 MiB."

// audioFiles declare the files of a collection's objects, which have operations of their own. An object names its files in a column: what
// it does not name is not there.
//
// A change of a file is a change of its object, with the object's rights, audit and entity tag. The file gets or loses its place as the last
// step of the transaction, while the object's row is locked. A process that dies, or a commit that fails, between the two leaves an object
// that tells of the file as it was before. The client, who has no answer, repeats the request, which brings both together again.
type audioFiles[T any] struct {
	// param is the parameter of paths that names a file, title what refusals call one, and of is what people call the object.
	param, title, of string
	// rawBy says how raw formats are known.
	rawBy string
	query []rest.Parameter
	// check refuses parameters; it may be nil.
	check  func(r *rest.Request) error
	folder func() audio.Folder
	// held are all files of an object: of several that a request means, the first is read.
	held func(o *T) []heldFile
	// declared is the format that a request declares, or "".
	declared func(r *rest.Request) string
	// add puts a file into the object, and returns its place; take takes some out of it.
	add  func(r *rest.Request, o *T, name string, f audio.File) (place []string, err error)
	take func(ctx context.Context, c store.Conn, r *rest.Request, o *T, name string) error
}

// heldFile is a file of an object: what paths name it by, where it is, and its name for the client.
type heldFile struct {
	name  string
	place []string
	as    string
	// folder, if set, returns where it is: not where the object's own files are. Nobody changes it there.
	folder func() audio.Folder
	// matches reports whether a request's parameters mean it; nil: all do.
	matches func(r *rest.Request) bool
}

// places are where an object's own files are.
func (a audioFiles[T]) places(o *T) (all [][]string) {
	for _, f := range a.held(o) {
		if f.folder == nil {
			all = append(all, f.place)
		}
	}
	return all
}

// fileName is the form of a file's name: a segment of a path, which begins with no dot.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// on adds the operations.
func (a audioFiles[T]) on(e *crud.Engine) {
	k := crud.Of[T](e)
	const octets = "application/octet-stream"
	path := k.OnePath() + "/files/{" + a.param + "}"
	for _, op := range []rest.Operation{
		{Method: http.MethodGet, ID: "get_", Summary: "Read a file of ", Success: http.StatusOK, Produces: octets, Handle: a.read(e)},
		{
			Method: http.MethodPut, ID: "update_", Summary: "Add or replace a file of ", Description: fmt.Sprintf(audioFormats, a.rawBy),
			Body: &rest.Schema{Type: "string", Format: "binary"}, Consumes: octets, MaxBody: maxAudio,
			Statuses: []int{http.StatusConflict, http.StatusPreconditionFailed}, Handle: a.write(e),
		},
		{Method: http.MethodDelete, ID: "delete_", Summary: "Delete a file of ", Statuses: []int{http.StatusPreconditionFailed}, Handle: a.remove(e)},
	} {
		action := map[string]string{http.MethodGet: "read", http.MethodPut: "update", http.MethodDelete: "delete"}[op.Method]
		op.Path, op.Access, op.Tag, op.Tenanted = path, rights.AccessOf("confd", path, action), k.Path, true
		op.ID, op.Summary, op.Query = op.ID+k.Path+"_files", op.Summary+a.of, a.query
		if op.Statuses = append(op.Statuses, http.StatusNotFound); op.Success == 0 {
			op.Success = http.StatusNoContent
		}
		e.Add(op)
	}
}

// named returns the name of the file that a path names.
func (a audioFiles[T]) named(r *rest.Request) (name string, err error) {
	if name = r.Param(a.param); !fileName.MatchString(name) {
		return "", a.missing()
	}
	if a.check != nil {
		err = a.check(r)
	}
	return name, err
}

func (a audioFiles[T]) missing() error {
	return apierr.New(apierr.NotFound, "%s was not found", a.title)
}

// read answers with a file.
func (a audioFiles[T]) read(e *crud.Engine) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		name, err := a.named(r)
		if err != nil {
			return reply, err
		}
		o, err := crud.Of[T](e).Named(ctx, r)
		if err != nil {
			return reply, err
		}
		held := a.held(o)
		i := slices.IndexFunc(held, func(f heldFile) bool { return f.name == name && (f.matches == nil || f.matches(r)) })
		if i < 0 {
			return reply, a.missing()
		}
		folder := a.folder
		if held[i].folder != nil {
			folder = held[i].folder
		}
		file, size, err := folder().Open(held[i].place...)
		if errors.Is(err, fs.ErrNotExist) {
			err = a.missing()
		}
		if err != nil {
			return reply, err
		}
		reply.Header = http.Header{"Content-Length": {strconv.FormatInt(size, 10)}, "Content-Disposition": {"attachment; filename=" + held[i].as}}
		reply.Stream = func(w io.Writer) error {
			_, err := io.CopyN(w, file, size)
			return errors.Join(err, file.Close())
		}
		if r.HTTP.Method == http.MethodHead { // nothing is streamed
			err = file.Close()
		}
		return reply, err
	}
}

// write takes the file that a client sends.
func (a audioFiles[T]) write(e *crud.Engine) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		name, err := a.named(r)
		if err != nil {
			return reply, err
		}
		if _, err := crud.Of[T](e).Named(ctx, r); err != nil { // before the body is read
			return reply, err
		}
		upload, err := a.folder().Receive(r.Body(), a.declared(r))
		if err != nil {
			return reply, err
		}
		defer upload.Discard()
		var place []string
		add := func(_ context.Context, _ store.Conn, o *T) (err error) {
			place, err = a.add(r, o, name, upload.File)
			return err
		}
		return reply, a.change(ctx, e, r, add, func() error { return upload.Keep(place...) })
	}
}

// remove deletes files.
func (a audioFiles[T]) remove(e *crud.Engine) rest.Handler {
	return func(ctx context.Context, r *rest.Request) (reply rest.Reply, err error) {
		name, err := a.named(r)
		if err != nil {
			return reply, err
		}
		take := func(ctx context.Context, c store.Conn, o *T) error {
			had := len(a.places(o))
			if err := a.take(ctx, c, r, o, name); err != nil {
				return err
			}
			if len(a.places(o)) == had {
				return a.missing()
			}
			return nil
		}
		return reply, a.change(ctx, e, r, take, nil)
	}
}

// change edits the object that the path names, and then has its files follow. keep, if set, puts a file into its place.
func (a audioFiles[T]) change(
	ctx context.Context, e *crud.Engine, r *rest.Request, edit func(ctx context.Context, c store.Conn, o *T) error, keep func() error,
) error {
	k := crud.Of[T](e)
	scope, err := e.TenantOf(ctx, r)
	if err != nil {
		return err
	}
	return e.InTx(ctx, func(ctx context.Context, c store.Conn) error {
		o, err := k.NamedIn(ctx, c, r, scope)
		if err != nil {
			return err
		}
		if err := k.Unchanged(ctx, c, r, scope, k.Key(o)); err != nil {
			return err
		}
		change := &crud.Change[T]{Request: r, Tenant: scope, Old: o}
		if err := k.Update(ctx, c, change, func(o *T) error { return edit(ctx, c, o) }); err != nil {
			return err
		}
		after := map[string]bool{}
		for _, place := range a.places(change.New) {
			if after[strings.Join(place, "/")] {
				return style.NotPermitted("Asterisk would know another file by the same name.")
			}
			after[strings.Join(place, "/")] = true
		}
		if keep != nil {
			err = keep()
		}
		for _, place := range a.places(o) {
			if err == nil && !after[strings.Join(place, "/")] {
				err = a.folder().Remove(place...)
			}
		}
		return err
	})
}

// withFile returns a list of files in which one takes the place of that which compares as equal, or is added, in their order.
func withFile[F any](files []F, one F, compare func(a, b F) int) ([]F, error) {
	files = slices.DeleteFunc(slices.Clone(files), func(f F) bool { return compare(f, one) == 0 })
	if len(files) >= maxAudioFiles {
		return nil, style.NotPermitted(fmt.Sprintf("There are %d files already.", maxAudioFiles))
	}
	files = append(files, one)
	slices.SortFunc(files, compare)
	return files, nil
}
