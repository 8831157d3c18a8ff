package doctor

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// public are the files of the data folder that others may read: nothing in them is secret.
var public = []string{"tls/certificate.pem"}

// left are the folders that are not looked into: others may have to read them, such as Asterisk.
var left = []string{"asterisk"}

// folder examines who may read the data folder.
func (i Installation) folder() []Finding {
	const subject = "data folder"
	info, err := os.Stat(i.Data)
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{{subject, Warning, i.Data + " is missing", "name it with --data or RINGFENCE_DATA; the first start of the gateway makes it"}}
	}
	if err != nil {
		return []Finding{{subject, Problem, err.Error(), "run this command as the user that the gateway runs as"}}
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
		findings = append(findings, Finding{subject, Problem, err.Error(), "run this command as the user that the gateway runs as"})
	}
	add(Problem, "it cannot be read", unreadable, "ls -ld")
	add(Problem, "others than its owner may read or write it", open, "chmod go-rwx")
	add(Warning, "its owner is not that of the folder, so that the gateway may not be able to write it", foreign, "chown --reference="+i.Data)
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

// certificates examines the self-signed certificate, and those of one's own.
func (i Installation) certificates() []Finding {
	var findings []Finding
	if i.Config != nil {
		for _, file := range i.Config.Certificates {
			findings = append(findings, certificate("certificate "+file, file, i.PublicURL, false))
		}
	}
	if len(findings) == 0 {
		findings = append(findings, certificate("certificate", filepath.Join(i.Data, "tls", "certificate.pem"), i.PublicURL, true))
	}
	return findings
}

// soon is how long before its end a certificate should have been renewed. The gateway renews its own months before.
const soon = 14 * 24 * time.Hour

func certificate(subject, file, publicURL string, own bool) Finding {
	text, err := os.ReadFile(file) //nolint:gosec // the operator's own file
	if own && errors.Is(err, fs.ErrNotExist) {
		return Finding{subject, OK, "there is no self-signed certificate yet; the first start of the gateway makes one", ""}
	}
	if err != nil {
		return Finding{subject, Problem, err.Error(), "correct the path in the configuration, or let the gateway's user read it"}
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return Finding{subject, Problem, file + " has no certificate in PEM", "put a certificate there"}
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Finding{subject, Problem, file + " cannot be read: " + err.Error(), "put a certificate there"}
	}
	renew := "renew it"
	if own {
		renew = "restart the gateway, which renews it, and compare this machine's clock"
	}
	now := time.Now()
	switch until := leaf.NotAfter.UTC().Format(time.DateOnly); {
	case now.Before(leaf.NotBefore):
		return Finding{subject, Problem, "it is valid only from " + leaf.NotBefore.UTC().Format(time.RFC3339), "set this machine's clock"}
	case now.After(leaf.NotAfter):
		return Finding{subject, Problem, "it expired on " + until, renew}
	case now.After(leaf.NotAfter.Add(-soon)):
		return Finding{subject, Warning, "it expires on " + until, renew}
	default:
		host := "localhost"
		if parsed, err := url.Parse(publicURL); err == nil && parsed.Hostname() != "" {
			host = parsed.Hostname()
		} else if !own {
			return Finding{subject, OK, "it is valid until " + until, ""}
		}
		if err := leaf.VerifyHostname(host); err != nil {
			return Finding{subject, Problem, "it is not for " + host + ", by which browsers reach the gateway", "restart the gateway, or use a certificate for that name, or correct RINGFENCE_PUBLIC_URL"}
		}
		return Finding{subject, OK, "it is valid until " + until + ", also for " + host, ""}
	}
}
