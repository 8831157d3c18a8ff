package audio

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// SystemFile is a file of the sounds that Asterisk brings.
type SystemFile struct {
	File

	Name, Language string
}

// languageForm is that of the languages: Asterisk's own folders, or links to them.
var languageForm = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z]{2,3})?$`)

// maxSystem bounds how many files are read of a folder.
const maxSystem = 20_000

// Languages returns the languages of which a folder of Asterisk's sounds has any. Where the folder cannot be read there is none.
func Languages(folder Folder) (all []string) {
	entries, _ := os.ReadDir(string(folder))
	for _, entry := range entries {
		if folder.In(entry.Name()) != "" {
			all = append(all, entry.Name())
		}
	}
	return all
}

// In returns the folder of a language, or "" if it is none, or leads out of the folder of sounds: packages make links of languages.
func (f Folder) In(language string) Folder {
	whole, err := filepath.EvalSymlinks(string(f))
	if err != nil || !languageForm.MatchString(language) {
		return ""
	}
	at, err := filepath.EvalSymlinks(filepath.Join(whole, language))
	if err != nil || !strings.HasPrefix(at, whole+"/") {
		return ""
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return ""
	}
	return Folder(at)
}

// System returns the files of a folder of Asterisk's sounds, by their names and languages.
func System(folder Folder) (all []SystemFile) {
	for _, language := range Languages(folder) {
		root, err := folder.In(language).open()
		if err != nil {
			continue
		}
		_ = fs.WalkDir(root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
			extension := Declared(at)
			if err != nil || !entry.Type().IsRegular() || extension == "" || len(all) >= maxSystem {
				return nil
			}
			if info, err := entry.Info(); err == nil {
				name := strings.TrimSuffix(at, path.Ext(at))
				all = append(all, SystemFile{File{Extension: extension, Size: info.Size(), Uploaded: info.ModTime().UTC()}, name, language})
			}
			return nil
		})
		_ = root.Close()
	}
	slices.SortStableFunc(all, func(a, b SystemFile) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Language, b.Language))
	})
	return all
}
