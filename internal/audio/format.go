// Package audio knows the files of sound that Asterisk plays, and keeps those of tenants in folders that Asterisk reads. It converts nothing.
package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
)

// formats are those of Asterisk, by the endings of its files. Each says what is wrong with a file of so many bytes that begins so; nil has
// nothing to say.
var formats = map[string]func(head []byte, size int64) string{
	"wav": wrongWAV, "wav16": wrongWAV, "wav49": wrongWAV, "ogg": nil, "opus": nil, "mp3": nil,
	"gsm": wrongGSM, "ulaw": nil, "alaw": nil, "g722": nil, "sln": wrongSamples, "sln12": wrongSamples, "sln16": wrongSamples,
	"sln24": wrongSamples, "sln32": wrongSamples, "sln44": wrongSamples, "sln48": wrongSamples,
}

// shown are the formats that content shows.
var shown = []string{SLIN, "wav", "wav16", "wav49", "ogg", "opus", "mp3"}

// SLIN is how clients call the format of files with the ending wav, or wav16 if they have 16000 samples in a second.
const SLIN = "slin"

// Formats are what a file may be declared to be.
func Formats() []string { return append(slices.Sorted(maps.Keys(formats)), SLIN) }

// FormatOf returns how clients call the format of files with an ending.
func FormatOf(extension string) string {
	if extension == "wav" || extension == "wav16" {
		return SLIN
	}
	return extension
}

// headSize is how much of a file tells what it is: what stands before the samples of a WAV is longer only if it has pictures.
const headSize = 64 << 10

// Recognise returns the ending by which Asterisk plays a file that begins with head. It may be declared to be one of Formats; otherwise its
// content has to show what it is.
func Recognise(head []byte, declared string) (extension string, err error) {
	found, why := find(head)
	switch {
	case why != "":
		return "", apierr.New(apierr.Invalid, "%s", why)
	case declared == "" && found == "":
		return "", apierr.New(apierr.Invalid, "This is no sound that can be told by its content: send a WAV with one channel, 16 bits and 8000 or 16000 Hz, "+
			"or say its format")
	case declared == "" || FormatOf(declared) == SLIN && FormatOf(found) == SLIN:
		return found, nil
	case found != "" && found != declared, found == "" && slices.Contains(shown, declared):
		return "", apierr.New(apierr.Invalid, "This is no %s", declared)
	}
	return declared, nil
}

// find returns the ending that a file's content shows, or "", and why Asterisk would not play it.
func find(head []byte) (extension, why string) {
	switch {
	case bytes.HasPrefix(head, []byte("RIFF")), bytes.HasPrefix(head, []byte("RIFX")), bytes.HasPrefix(head, []byte("RF64")):
		w, why := readWAV(head)
		return w.extension, why
	case bytes.HasPrefix(head, []byte("OggS")):
		page := head[:min(len(head), 128)]
		switch {
		case bytes.Contains(page, []byte("\x01vorbis")):
			return "ogg", ""
		case bytes.Contains(page, []byte("OpusHead")):
			return "opus", ""
		}
		return "", "An Ogg file must have Vorbis or Opus"
	case bytes.HasPrefix(head, []byte("ID3")), isFrame(head):
		return "mp3", ""
	}
	return "", ""
}

// isFrame reports whether a file begins with a frame of MPEG audio, layer III.
func isFrame(head []byte) bool {
	return len(head) > 3 && head[0] == 0xff && head[1]&0xe6 == 0xe2 && head[1]&0x18 != 0x08 && head[2]>>4 != 0 && head[2]>>4 != 15 && head[2]&0x0c != 0x0c
}

// wav is what the beginning of a WAV says of it.
type wav struct {
	extension string
	// begin is where the samples begin, and size how many bytes they have.
	begin, size int64
}

// readWAV reads the chunks before the samples, as Asterisk does.
func readWAV(head []byte) (w wav, why string) {
	const broken = "The header of this WAV is broken"
	if len(head) < 12 || string(head[:4]) != "RIFF" || string(head[8:12]) != "WAVE" {
		return w, broken
	}
	for at := int64(12); at+8 <= int64(len(head)); {
		name, size := string(head[at:at+4]), int64(binary.LittleEndian.Uint32(head[at+4:]))
		at += 8
		switch {
		case name == "data" && w.extension == "":
			return w, broken
		case name == "data":
			w.begin, w.size = at, size
			return w, ""
		case name == "fmt " && (size < 16 || at+16 > int64(len(head))):
			return w, broken
		case name == "fmt ":
			field := func(i int64) int { return int(binary.LittleEndian.Uint16(head[at+i:])) }
			kind, channels, rate, bits := field(0), field(2), binary.LittleEndian.Uint32(head[at+4:]), field(14)
			switch {
			case kind == 1 && channels == 1 && bits == 16 && rate == 8000:
				w.extension = "wav"
			case kind == 1 && channels == 1 && bits == 16 && rate == 16000:
				w.extension = "wav16"
			case kind == 0x31 && channels == 1 && rate == 8000:
				w.extension = "wav49"
			default:
				return w, fmt.Sprintf("A WAV must have one channel, and 16 bits of PCM at 8000 or 16000 Hz; this has format %d, %d channels, %d bits and %d Hz",
					kind, channels, bits, rate)
			}
		}
		at += size
	}
	return w, broken
}

func wrongWAV(head []byte, size int64) string {
	w, why := readWAV(head)
	if have := size - w.begin; why == "" && w.size > have {
		why = fmt.Sprintf("The header of this WAV says that %d bytes of sound follow it, and %d do", w.size, have)
	}
	return why
}

// wrongGSM: frames of 33 bytes, each with the same four bits at its beginning.
func wrongGSM(head []byte, size int64) string {
	broken := size%33 != 0
	for at := 0; at < len(head); at += 33 {
		broken = broken || head[at]>>4 != 0xd
	}
	if broken {
		return "This is no gsm"
	}
	return ""
}

// wrongSamples: two bytes each.
func wrongSamples(_ []byte, size int64) string {
	if size%2 != 0 {
		return "This is no slin: it has half a sample"
	}
	return ""
}

// check refuses a whole file of which [Recognise] knows the ending.
func check(head []byte, extension string, size int64) error {
	why := ""
	if size == 0 {
		why = "A sound is not empty"
	} else if wrong := formats[extension]; wrong != nil {
		why = wrong(head, size)
	}
	if why != "" {
		return apierr.New(apierr.Invalid, "%s", why)
	}
	return nil
}

// Declared returns the format that the ending of a file's name declares, or "".
func Declared(name string) string {
	extension := name[strings.LastIndexByte(name, '.')+1:]
	if _, known := formats[extension]; !known {
		return ""
	}
	return extension
}
