package asterisk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/ringfence/ringfence/asterisk/conf"
	"github.com/ringfence/ringfence/confdsvc"
)

func init() {
	parts = append(parts, part{"musiconhold.conf", 0, "classes", writeMusic})
}

// musicOrders are the orders of files, as Asterisk calls them.
var musicOrders = map[string]string{"alphabetical": "alpha", "random": "random", "random_start": "randstart"}

// writeMusic writes the classes. All of them play files: a program that somebody names would run on this machine.
func writeMusic(p *plan, w *conf.Writer) {
	w.Section("default")
	w.Set("mode", "files")
	standard := cmp.Or(p.options.DefaultMusic, "moh")
	w.Set("directory", standard)
	for _, m := range byName(p.Music, func(m *confdsvc.MOH) string { return m.Name }) {
		w.Section(m.Name)
		w.Comment(m.Label)
		w.Set("mode", "files")
		folder := ""
		if p.options.Music != nil {
			folder = p.options.Music(m.Name)
		}
		w.Set("directory", cmp.Or(folder, standard))
		if len(m.Files.V) > 0 { // Asterisk looks for files when it reads other bytes than before
			w.Comment("its files: " + sumOf(m.Files.V))
		}
		if order := musicOrders[text(m.Sort)]; order != "" {
			w.Set("sort", order)
		}
	}
}

// sumOf returns a text that is another one for other files.
func sumOf(files []confdsvc.MOHFile) string {
	sum := sha256.New()
	for _, f := range files {
		fmt.Fprintln(sum, f.Name, f.Extension, f.SHA256)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// DefaultMusic returns the folder of the default music in Asterisk's data, where its own files are in the folder etc.
func DefaultMusic(etc string) string { return filepath.Join(dataFolder(etc), "moh") }

// SystemSounds returns the folder of the sounds that Asterisk brings, where its own files are in the folder etc.
func SystemSounds(etc string) string { return filepath.Join(dataFolder(etc), "sounds") }

// dataFolder returns the folder of Asterisk's data, where its own files are in the folder etc. Samples of asterisk.conf name the folders that a
// package has, in a template.
func dataFolder(etc string) string {
	data := "/var/lib/asterisk"
	if f, err := conf.ReadTree(etc, "asterisk.conf"); err == nil && f.Section("directories") != nil {
		if named, is := f.Section("directories").Get("astdatadir"); is {
			data = named
		}
	}
	return data
}
