package audio_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audio"
)

// wav returns a WAV of so many bytes of sound, whose header says that there are said of them.
func wav(kind, channels, bits uint16, rate uint32, bytesOfSound int, said uint32, before ...string) []byte {
	var b bytes.Buffer
	b.WriteString("RIFF\xff\xff\xff\xffWAVE" + strings.Join(before, ""))
	b.WriteString("fmt \x10\x00\x00\x00")
	for _, v := range []any{kind, channels, rate, rate * 2, uint16(2), bits} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, said)
	b.Write(make([]byte, bytesOfSound))
	return b.Bytes()
}

// A file is known by its content, or taken for what it is said to be where content shows nothing; what Asterisk would not play is refused.
func TestRecognise(t *testing.T) {
	good := string(wav(1, 1, 16, 8000, 320, 320))
	gsm := strings.Repeat("\xd0"+strings.Repeat("x", 32), 5)
	for name, c := range map[string]struct{ body, declared, want, says string }{
		"wav":                      {body: good, want: "wav"},
		"wav, as slin":             {body: good, declared: "slin", want: "wav"},
		"wav16, called wav":        {body: string(wav(1, 1, 16, 16000, 320, 320)), declared: "wav", want: "wav16"},
		"wav49":                    {body: string(wav(0x31, 1, 0, 8000, 65, 65)), want: "wav49"},
		"chunks before and after":  {body: string(wav(1, 1, 16, 8000, 400, 320, "JUNK\x04\x00\x00\x00abcd")), want: "wav"},
		"ogg":                      {body: "OggS\x00\x02" + strings.Repeat("\x00", 22) + "\x01vorbis", want: "ogg"},
		"opus":                     {body: "OggS\x00\x02" + strings.Repeat("\x00", 22) + "OpusHead", want: "opus"},
		"mp3 with a tag":           {body: "ID3\x04", want: "mp3"},
		"mp3":                      {body: "\xff\xfb\x90\x00", declared: "mp3", want: "mp3"},
		"ulaw":                     {body: "\xff\xff\xff\xff\x7f", declared: "ulaw", want: "ulaw"},
		"sln16":                    {body: "abcd", declared: "sln16", want: "sln16"},
		"gsm":                      {body: gsm, declared: "gsm", want: "gsm"},
		"two channels":             {body: string(wav(1, 2, 16, 8000, 320, 320)), says: "2 channels"},
		"eight bits":               {body: string(wav(1, 1, 8, 8000, 320, 320)), says: "8 bits"},
		"44100 Hz":                 {body: string(wav(1, 1, 16, 44100, 320, 320)), says: "44100 Hz"},
		"compressed":               {body: string(wav(0x55, 1, 16, 8000, 320, 320)), says: "format 85"},
		"header that lies":         {body: string(wav(1, 1, 16, 8000, 320, 321)), says: "321 bytes of sound follow it, and 320 do"},
		"header without an end":    {body: string(wav(1, 1, 16, 8000, 320, 0xffffffff)), says: "4294967295 bytes"},
		"chunk beyond the end":     {body: string(wav(1, 1, 16, 8000, 320, 320, "JUNK\xff\xff\xff\xff")), says: "broken"},
		"fmt of three bytes":       {body: "RIFF\x00\x00\x00\x00WAVEfmt \x03\x00\x00\x00abcdata\x00\x00\x00\x00", says: "broken"},
		"fmt that ends":            {body: "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00ab", says: "broken"},
		"sound without fmt":        {body: "RIFF\x00\x00\x00\x00WAVEdata\x00\x00\x00\x00", says: "broken"},
		"four bytes of a wav":      {body: "RIFF", says: "broken"},
		"another byte order":       {body: strings.Replace(good, "RIFF", "RIFX", 1), says: "broken"},
		"wav, called ulaw":         {body: good, declared: "ulaw", says: "no ulaw"},
		"text, called wav":         {body: "hello", declared: "slin", says: "no slin"},
		"text":                     {body: "hello", says: "no sound"},
		"program":                  {body: "\x7fELF\x02\x01\x01", says: "no sound"},
		"ogg with pictures":        {body: "OggS\x00\x02" + strings.Repeat("\x00", 22) + "\x80theora", says: "Vorbis or Opus"},
		"half a sample":            {body: "abc", declared: "sln", says: "half a sample"},
		"gsm with half a frame":    {body: gsm[:40], declared: "gsm", says: "no gsm"},
		"gsm of another kind":      {body: strings.Repeat("x", 33), declared: "gsm", says: "no gsm"},
		"nothing":                  {says: "no sound"},
		"nothing, said to be ulaw": {declared: "ulaw", says: "not empty"},
	} {
		f := audio.Folder(t.TempDir())
		u, err := f.Receive(strings.NewReader(c.body), c.declared)
		if c.want != "" {
			if err != nil || u.Extension != c.want || u.Size != int64(len(c.body)) {
				t.Errorf("%s: %v, %v", name, u, err)
			}
			continue
		}
		if e := apierr.As(err); e == nil || e.Kind != apierr.Invalid || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, %v", name, u, err)
		}
		empty(t, string(f))
	}
	for _, bad := range []string{"welcome", "x.exe", "x.WAV", ".", ""} {
		if got := audio.Declared(bad); got != "" {
			t.Errorf("%q declares %s", bad, got)
		}
	}
}

// empty fails the test if anything is in a folder.
func empty(t *testing.T, folder string) {
	t.Helper()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o750|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	f := audio.Folder(folder)
	content := wav(1, 1, 16, 8000, 100_000, 100_000)
	keep := func(place ...string) {
		t.Helper()
		u, err := f.Receive(bytes.NewReader(content), "")
		if err != nil {
			t.Fatal(err)
		}
		defer u.Discard()
		for range 2 { // a transaction may run again
			if err := u.Keep(place...); err != nil {
				t.Fatal(err)
			}
		}
	}
	keep("one", "en", "x.wav")
	keep("one", "x.wav")
	keep("one", "x.wav") // it replaces
	file, size, err := f.Open("one", "en", "x.wav")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(file); err != nil || size != int64(len(content)) || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	_ = file.Close()
	for path, want := range map[string]fs.FileMode{"one/x.wav": 0o640, "one": 0o750 | fs.ModeDir | fs.ModeSetgid, "one/en": 0o750 | fs.ModeDir | fs.ModeSetgid} {
		if info, err := os.Stat(filepath.Join(folder, path)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for range 2 {
		if err := f.Remove("one", "x.wav"); err != nil {
			t.Error(err)
		}
	}
	if err := f.Remove("one", "en", "x.wav"); err != nil {
		t.Error(err)
	}
	empty(t, folder)
}

// No link is followed, neither where a file is read nor where one is put, and none leads out.
func TestLinksInFolders(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	f := audio.Folder(folder)
	for path, text := range map[string]string{outside + "/secret": "secret", folder + "/own/secret": "other"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{"own/a.wav": outside + "/secret", "own/b.wav": "secret", "out": outside, "in": "own"} {
		if err := os.Symlink(to, filepath.Join(folder, at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(folder+"/own/c.wav", 0o700), syscall.Mkfifo(folder+"/own/d.wav", 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, place := range [][]string{{"own", "a.wav"}, {"own", "b.wav"}, {"out", "secret"}, {"in", "secret"}, {"own", "c.wav"}, {"own", "d.wav"}, {"own", "none"}} {
		if file, _, err := f.Open(place...); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v, %v", place, file, err)
		}
	}
	u, err := f.Receive(bytes.NewReader(wav(1, 1, 16, 8000, 8, 8)), "")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Discard()
	for _, place := range [][]string{{"out", "x.wav"}, {"in", "x.wav"}} {
		if err := u.Keep(place...); apierr.As(err) == nil {
			t.Errorf("%v: %v", place, err)
		}
	}
	if err := f.Remove("out", "secret"); err != nil {
		t.Error(err)
	}
	if err := u.Keep("own", "a.wav"); err != nil { // the link is replaced, not what it leads to
		t.Error(err)
	}
	if text, err := os.ReadFile(outside + "/secret"); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
}

// Of a body that ends early, or has no room, nothing is left. What a dead process has left goes with the next upload.
func TestInterruptedUploads(t *testing.T) {
	folder := t.TempDir()
	f, cut := audio.Folder(folder), errors.New("cut")
	content := wav(1, 1, 16, 8000, 200_000, 200_000)
	for _, at := range []int64{0, 3, 40, 70_000, 200_000} {
		body := io.MultiReader(io.LimitReader(bytes.NewReader(content), at), iotest.ErrReader(cut))
		if u, err := f.Receive(body, ""); !errors.Is(err, cut) {
			t.Errorf("after %d bytes: %v, %v", at, u, err)
		}
		empty(t, folder)
	}
	old, fresh := folder+"/.upload-old", folder+"/.upload-fresh"
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	u, err := f.Receive(bytes.NewReader(content), "")
	if err != nil {
		t.Fatal(err)
	}
	u.Discard()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 || entries[0].Name() != ".upload-fresh" {
		t.Errorf("%v, %v", entries, err)
	}
	for _, none := range []audio.Folder{"", audio.Folder(folder + "/none")} {
		if _, err := none.Receive(bytes.NewReader(content), ""); apierr.As(err) == nil || apierr.As(err).Kind != apierr.Unavailable {
			t.Error(err)
		}
	}
}

// A file that is larger than there is room for is refused for that reason.
func TestNoRoom(t *testing.T) {
	folder := t.TempDir()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	u, err := audio.Folder(folder).Receive(bytes.NewReader(wav(1, 1, 16, 8000, 200_000, 200_000)), "")
	if failed := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); failed != nil {
		t.Fatal(failed)
	}
	if e := apierr.As(err); e == nil || e.Kind != apierr.Unavailable || !strings.Contains(e.Message, "no room") {
		t.Errorf("%v, %v", u, err)
	}
	empty(t, folder)
}
