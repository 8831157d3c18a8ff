package confdsvc_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/rest/resttest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

// newAudioWorld is a world with folders for files of sound. It returns the folder above them.
func newAudioWorld(t *testing.T, db store.DB) (*world, string) {
	t.Helper()
	w, folder := newWorld(t, db), t.TempDir()
	for _, name := range []string{"moh", "sounds", "system"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	svc, err := confdsvc.New(confdsvc.Options{DB: db, Audio: func() confdsvc.AudioFolders {
		return confdsvc.AudioFolders{MOH: audio.Folder(folder + "/moh"), Sounds: audio.Folder(folder + "/sounds"), System: audio.Folder(folder + "/system")}
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.svc = svc
	return w, folder
}

// tone is a WAV with so many samples of this value.
func tone(rate uint32, samples int, value int16) string {
	var b bytes.Buffer
	b.WriteString("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	for _, v := range []any{rate, rate * 2, uint16(2), uint16(16)} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, uint32(samples*2))
	for range samples {
		_ = binary.Write(&b, binary.LittleEndian, value)
	}
	return b.String()
}

func octets(r *http.Request) {
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("Accept", "application/octet-stream, application/json")
}

// inFolder returns all files below a folder.
func inFolder(t *testing.T, folder string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			path, err = filepath.Rel(folder, path)
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The files of music on hold are those that the object names: added, read, replaced and deleted, and nobody else's.
func TestMOHFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, folder := newAudioWorld(t, db)
		c := w.as(t, "a")
		moh := c.Create("/moh", object{"label": "M", "mode": "files"})
		path, own := "/moh/"+moh.Text("uuid"), folder+"/moh/"+moh.Text("name")
		files := func(want ...string) {
			t.Helper()
			var names []string
			for _, f := range c.Get(path).Object()["files"].([]any) {
				names = append(names, f.(map[string]any)["name"].(string))
			}
			if !slices.Equal(names, want) {
				t.Errorf("files %q, want %q", names, want)
			}
		}
		first, second := tone(8000, 400, 1), tone(16000, 800, 2)
		c.Do(http.MethodPut, path+"/files/b.wav", first, octets).Want(http.StatusNoContent).Empty()
		c.Do(http.MethodPut, path+"/files/a.wav", second, octets).Want(http.StatusNoContent)
		files("a.wav", "b.wav")
		if got := inFolder(t, own); !slices.Equal(got, []string{"a.wav.wav16", "b.wav"}) {
			t.Errorf("%q", got)
		}
		got := c.Get(path+"/files/b.wav", octets).Want(http.StatusOK)
		if h := got.Header; got.Body != first || h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != "attachment; filename=b.wav" {
			t.Errorf("%d bytes, %v", len(got.Body), h)
		}
		if got := c.Do(http.MethodHead, path+"/files/b.wav", nil, octets).Want(http.StatusOK); got.Body != "" || got.Header.Get("Content-Length") != fmt.Sprint(len(first)) {
			t.Errorf("%v", got.Header)
		}
		// A file that becomes one of another format leaves nothing of the old one.
		c.Do(http.MethodPut, path+"/files/b.wav", second, octets).Want(http.StatusNoContent)
		if got := inFolder(t, own); !slices.Equal(got, []string{"a.wav.wav16", "b.wav.wav16"}) || c.Get(path+"/files/b.wav", octets).Body != second {
			t.Errorf("%q", got)
		}
		c.Do(http.MethodPut, path+"/files/b.wav.wav16", second, octets).Want(http.StatusBadRequest).Says("Asterisk would know another file by the same name")
		for _, other := range []string{"b", "a1"} {
			o := w.as(t, other)
			o.Get(path+"/files/a.wav", octets).Want(http.StatusNotFound)
			o.Do(http.MethodPut, path+"/files/a.wav", first, octets).Want(http.StatusNotFound)
			o.Do(http.MethodDelete, path+"/files/a.wav", nil).Want(http.StatusNotFound)
		}
		tag := c.Get(path).Header.Get("ETag")
		c.Do(http.MethodDelete, path+"/files/a.wav", nil).Want(http.StatusNoContent)
		c.Do(http.MethodDelete, path+"/files/a.wav", nil).Want(http.StatusNotFound).Says("MOH file was not found")
		c.Do(http.MethodPut, path+"/files/b.wav", first, octets, resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		c.Do(http.MethodDelete, path+"/files/b.wav", nil, resttest.IfMatch(tag)).Want(http.StatusPreconditionFailed)
		files("b.wav")
		c.Do(http.MethodPut, path, object{"files": []any{}, "label": "N"}).Want(http.StatusNoContent)
		files("b.wav")
		if err := os.Remove(own + "/b.wav.wav16"); err != nil { // by somebody else
			t.Fatal(err)
		}
		c.Get(path+"/files/b.wav", octets).Want(http.StatusNotFound)
		c.Do(http.MethodDelete, path+"/files/b.wav", nil).Want(http.StatusNoContent)
		if entries, err := os.ReadDir(folder + "/moh"); err != nil || len(entries) != 0 {
			t.Errorf("%v, %v", entries, err)
		}
		n, err := store.Get[int](t.Context(), db, `SELECT count(*) FROM audit WHERE object = $1 AND action IN ('update_moh_files', 'delete_moh_files')`, moh.Text("uuid"))
		if err != nil || n != 5 {
			t.Errorf("%d entries in the audit, %v", n, err)
		}
	})
}

// No name leads anywhere else, and what is refused, cut off or too large leaves nothing: no file, and no change of the object.
func TestBadAudioFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, folder := newAudioWorld(t, db)
		c := w.as(t, "a")
		path := "/moh/" + c.Create("/moh", object{"label": "M", "mode": "files"}).Text("uuid")
		good, before := tone(8000, 400, 1), c.Get(path).Body
		for _, name := range []string{"..%2fx.wav", "%2e%2e", "..", ".x.wav", "x%00.wav", "x%0a.wav", "a b.wav", "%C3%A9.wav", "x*.wav", "%5c.wav", strings.Repeat("a", 195) + ".wav"} {
			for method, body := range map[string]any{http.MethodPut: good, http.MethodGet: nil, http.MethodDelete: nil} {
				if got := c.Do(method, path+"/files/"+name, body, octets); got.Status != http.StatusNotFound && got.Status != http.StatusBadRequest {
					t.Errorf("%s %s: %d %s", method, name, got.Status, got.Body)
				}
			}
		}
		c.Do(http.MethodPut, path+"/files/x.wav", good).Want(http.StatusUnsupportedMediaType)
		for _, bad := range []string{"", "hello", good[:50], good[:len(good)-1], "RIFF"} {
			c.Do(http.MethodPut, path+"/files/x.wav", bad, octets).Want(http.StatusBadRequest)
		}
		for _, unknown := range []string{"/moh/none", "/moh/" + w.tenants["a"]} {
			c.Do(http.MethodPut, unknown+"/files/x.wav", good, octets).Want(http.StatusNotFound).Says("MOH was not found")
		}
		c.Do(http.MethodPut, path+"/files/x.wav", good, octets, func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(good[:500]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		}).Want(http.StatusBadRequest).Says("sent a request that this server could not understand")
		large := func(announced int64) func(r *http.Request) {
			return func(r *http.Request) {
				r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("RIFF\x00\x00\x00\x00WAVE"+good[12:36]+"data\xff\xff\xff\x7f"), io.LimitReader(zeros{}, 41<<20))), announced
			}
		}
		c.Do(http.MethodPut, path+"/files/x.wav", good, octets, large(41<<20+44)).Want(http.StatusRequestEntityTooLarge)
		c.Do(http.MethodPut, path+"/files/x.wav", good, octets, large(-1)).Want(http.StatusRequestEntityTooLarge)
		if got := inFolder(t, folder); len(got) > 0 || c.Get(path).Body != before {
			t.Errorf("there are %q", got)
		}
		if err := os.RemoveAll(folder + "/moh"); err != nil {
			t.Fatal(err)
		}
		c.Do(http.MethodPut, path+"/files/x.wav", good, octets).Want(http.StatusServiceUnavailable)
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Who is denied a file finds it in no list, and does nothing to the object that they may not do to the file.
func TestDeniedAudioFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db store.DB) {
		w, _ := newAudioWorld(t, db)
		c := w.as(t, "a")
		path := "/moh/" + c.Create("/moh", object{"label": "M", "mode": "files"}).Text("uuid")
		c.Do(http.MethodPut, path+"/files/x.wav", tone(8000, 400, 1), octets).Want(http.StatusNoContent)
		d := newDoorkeeper(t, w.svc)
		access := "confd" + strings.ReplaceAll(path, "/", ".") + ".files.x%2Ewav"
		caller := d.holding(t, w.tenants["a"], w.tenants["a"], "confd.#", "!"+access+".read", "!"+access+".delete")
		for _, list := range []string{path, "/moh"} {
			if got := caller.Get(list).Want(http.StatusOK); strings.Contains(got.Body, "x.wav") {
				t.Errorf("%s shows %s", list, got.Body)
			}
		}
		caller.Get(path+"/files/x.wav", octets).Want(http.StatusForbidden)
		caller.Do(http.MethodDelete, path, nil).Want(http.StatusForbidden)
		c.Do(http.MethodDelete, path, nil).Want(http.StatusNoContent)
	})
}
