package asterisk_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/audio"
)

// Callers hear what a company has recorded: before an incoming call goes on, as its end, and while they wait. Music that is added is played
// after the next apply.
func TestRealSounds(t *testing.T) {
	s := office(t)
	const menus, music = "0b2c1f5a-3c43-4f7f-9f55-0d2f6f1f9c11", "moh-acme-0b2c1f5a-3c43-4f7f-9f55-0d2f6f1f9c12"
	s.Sounds = append(s.Sounds, &confdsvc.Sound{UUID: menus, TenantUUID: acme, Name: "menus"})
	outside(t, s, 3, "5550103", `{"type": "sound", "filename": "menus/bye", "skip": false, "no_answer": false}`).GreetingSound = new("menus/welcome")
	outside(t, s, 4, "5550104", `{"type": "sound", "filename": "system/hello-world", "skip": false, "no_answer": false}`)
	outside(t, s, 5, "5550105", `{"type": "custom", "command": "MusicOnHold(`+music+`,1)"}`)
	moh := &confdsvc.MOH{UUID: music[9:], TenantUUID: acme, Name: music, Label: "Calm", Mode: "files"}
	s.Music = append(s.Music, moh)
	a := startReal(t, s)
	put := func(folder string, rate uint32, place ...string) audio.File {
		t.Helper()
		if err := os.MkdirAll(a.dir+folder, 0o750); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		b.WriteString("RIFF\x24\x32\x00\x00WAVEJUNK\x04\x00\x00\x00abcdfmt \x10\x00\x00\x00\x01\x00\x01\x00")
		for _, v := range []any{rate, rate * 2, uint16(2), uint16(16)} {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
		b.WriteString("data")
		_ = binary.Write(&b, binary.LittleEndian, rate/2)
		b.Write(make([]byte, rate/2))
		u, err := audio.Folder(a.dir+folder).Receive(&b, "")
		if err != nil {
			t.Fatal(err)
		}
		defer u.Discard()
		if err := u.Keep(place...); err != nil {
			t.Fatal(err)
		}
		return u.File
	}
	put("/sounds", 8000, menus, "welcome.wav")
	put("/sounds", 16000, menus, "en", "bye.wav16")
	moh.Files.V = []confdsvc.MOHFile{{Name: "one.wav", File: put("/moh", 8000, music, "one.wav")}}
	a.apply()
	a.clean("the first apply")
	alice := a.phone(t, "alice")
	hear := func(number string, heard ...string) {
		t.Helper()
		a.news()
		if _, got := alice.dial(number); got != 200 {
			t.Errorf("%s: %d", number, got)
		}
		for _, one := range heard {
			wait(t, number+": "+one, func() bool { return strings.Contains(a.log()[a.read:], one) }, func() string { return a.log()[a.read:] })
		}
		a.rest(number, "answer", []*phone{alice})
	}
	hear("5550103", "Playing '"+a.dir+"/sounds/"+menus+"/welcome.", "Playing '"+a.dir+"/sounds/"+menus+"/bye.")
	hear("5550104", "Playing 'hello-world.")
	hear("5550105", "Started music on hold, class '"+music+"'")
	two := put("/moh", 16000, music, "two.wav16")
	a.mu.Lock()
	moh.Files.V = append(moh.Files.V, confdsvc.MOHFile{Name: "two.wav", File: two})
	a.mu.Unlock()
	if got := a.cli("moh show files"); !strings.Contains(got, "one") || strings.Contains(got, "two") {
		t.Errorf("before: %s", got)
	}
	a.apply()
	if got := a.cli("moh show files"); !strings.Contains(got, music+"/one") || !strings.Contains(got, music+"/two") {
		t.Errorf("after: %s", got)
	}
	a.clean("the music that was added")
}
