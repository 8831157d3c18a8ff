package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringfence/ringfence/internal/backup"
)

// public are the files of the data folder that others may read: nothing in them is secret.
var public = []string{"tls/certificate.pem"}

// left are the folders that are not looked into: others may have to read them, such as Asterisk.
var left = []string{"asterisk"}

// asUser is the advice when something cannot be read.
const asUser = "run this command as the user that the gateway runs as; if you are, give that user the file, with the folders above it"

// folder examines who may read the data folder.
func (i Installation) folder() []Finding {
	const subject = "data folder"
	info, err := os.Stat(i.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{{subject, Warning, i.Data + " is missing", "name it with --data or RINGFENCE_DATA; the first start of the gateway makes it"}}
	}
	if err != nil {
		return []Finding{{subject, Problem, err.Error(), asUser}}
	}
	var open, foreign, unreadable []string
	err = filepath.WalkDir(i.Data, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(i.Data, path)
		if err != nil {
			unreadable = append(unreadable, path)
			return nil
		}
		if entry.IsDir() && slices.Contains(left, name) {
			return fs.SkipDir
		}
		file, err := entry.Info()
		if err != nil { // it was removed meanwhile
			return nil //nolint:nilerr // see above
		}
		if file.Mode().Perm()&0o077 != 0 && entry.Type()&fs.ModeSymlink == 0 && !slices.Contains(public, name) && !covered(i.Data, path, info) {
			open = append(open, path)
		}
		if owner(file) != owner(info) {
			foreign = append(foreign, path)
		}
		return nil
	})
	var findings []Finding
	add := func(state State, what string, paths []string, command string) {
		if len(paths) > 0 {
			findings = append(findings, Finding{subject, state, what + ": " + shown(paths), "run \"" + command + " " + shown(paths) + "\""})
		}
	}
	if err != nil {
		findings = append(findings, Finding{subject, Problem, err.Error(), asUser})
	}
	if len(unreadable) > 0 {
		findings = append(findings, Finding{subject, Problem, "it cannot be read: " + shown(unreadable), asUser})
	}
	add(Problem, "others than its owner may read or write it", open, "chmod go-rwx")
	add(Warning, "its owner is not that of the folder, so that the gateway may not be able to write it", foreign, "chown --reference="+i.Data)
	if _, err := os.Stat(filepath.Join(i.Data, backup.Unfinished)); err == nil {
		findings = append(findings, Finding{
			subject, Problem, "a restore has not ended: the keys may be older than the database",
			"if none is running, stop the gateway and complete it: \"ringfence restore <backup> --replace\"",
		})
	}
	if len(findings) == 0 {
		findings = append(findings, Finding{subject, OK, "only its owner can read " + i.Data, ""})
	}
	return findings
}

// covered reports whether a file below the data folder is out of reach anyway, since the folder is closed. Keys are refused even then.
func covered(data, path string, info fs.FileInfo) bool {
	closed := info.Mode().Perm()&0o077 == 0
	name, _ := filepath.Rel(data, path)
	return closed && name != "sealing-key" && name != filepath.Join("tls", "key.pem") && name != "admin-credentials"
}

func owner(info fs.FileInfo) uint32 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Uid
	}
	return 0
}

// shown lists the first paths of many.
func shown(paths []string) string {
	const most = 5
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], " "), len(paths)-most)
	}
	return strings.Join(paths, " ")
}

// Writable returns an error that names a folder, or one below it to a depth of two, in which this process cannot make and remove files.
// It tries that. A folder that is missing is none.
func Writable(folder string) error {
	tried, err := os.MkdirTemp(folder, ".ringfence-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(tried)
	}
	if err != nil {
		return err
	}
	const all = unix.R_OK | unix.W_OK | unix.X_OK
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		depth := strings.Count(name, "/")
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return err
		case !entry.IsDir() || name == ".":
			return nil
		case strings.HasPrefix(name, "."):
			return fs.SkipDir
		}
		if err := unix.Faccessat(unix.AT_FDCWD, path, all, unix.AT_EACCESS); err != nil {
			return &fs.PathError{Op: "writing", Path: path, Err: err}
		}
		if depth > 0 {
			return fs.SkipDir
		}
		return nil
	})
}

// asterisks examines the folders of Asterisk.
func (i Installation) asterisks() (findings []Finding) {
	const subject = "Asterisk's folders"
	for _, folder := range i.Folders {
		if err := Writable(folder); err != nil {
			findings = append(findings, Finding{
				subject, Problem, "the gateway cannot change the files in " + folder + ": " + err.Error() + "; PINs, voicemails and music do not follow what is stored",
				"give its user the right, as \"Setting it up\" in docs/apply.md does, and run this command as that user",
			})
		}
	}
	if len(findings) == 0 && len(i.Folders) > 0 {
		findings = append(findings, Finding{subject, OK, "the gateway can change the files in " + shown(i.Folders), ""})
	}
	return findings
}

// The space, in bytes, below which a finding is bad.
const (
	littleSpace = 1 << 30
	noSpace     = 100 << 20
)

func (i Installation) space() Finding {
	const subject = "disk space"
	folder := i.Data
	if _, err := os.Stat(folder); err != nil {
		folder = filepath.Dir(folder)
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return Finding{subject, Warning, "it cannot be told: " + err.Error(), "look with \"df -h\""}
	}
	free := s.Bavail * uint64(s.Bsize) //nolint:gosec // positive; its type differs between systems
	return spaceFinding(subject, folder, free)
}

func spaceFinding(subject, folder string, free uint64) Finding {
	text := fmt.Sprintf("%d MiB are free for %s", free>>20, folder)
	const advice = "make room: a full disk stops the database and the logs"
	switch {
	case free < noSpace:
		return Finding{subject, Problem, text, advice}
	case free < littleSpace:
		return Finding{subject, Warning, text, advice}
	default:
		return Finding{subject, OK, text, ""}
	}
}

// HasMusic reports whether a folder has files beside its folders.
func HasMusic(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() && e.Name()[0] != '.' })
}

// music examines whether there is anything to play to callers who wait.
func (i Installation) music() Finding {
	const subject = "music on hold"
	for _, folder := range i.Music {
		if HasMusic(folder) {
			return Finding{subject, OK, folder + " has files", ""}
		}
	}
	return Finding{
		subject, Warning, "no file is in " + strings.Join(i.Music, " or ") +
			": who is on hold hears nothing where no other music was chosen, and without the last folder Asterisk writes an ERROR at each reload",
		"put files of music into one of them (wav, gsm, sln16), or install a package that has some, such as Debian's asterisk-moh-opsound-wav",
	}
}
