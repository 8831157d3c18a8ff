package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// ErrNoPrograms says that PostgreSQL's server programs are not installed.
var ErrNoPrograms = errors.New("PostgreSQL's server programs (initdb, postgres) are not in PATH nor in /usr/lib/postgresql/*/bin")

// Programs returns the folder of the server programs: that of initdb in PATH, otherwise the newest in the folders of Debian and
// its like.
func Programs() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if initdb, err = filepath.EvalSymlinks(initdb); err == nil {
			return filepath.Dir(initdb), nil
		}
	}
	newest, folder := 0, ""
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, bin := range found {
			if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
				continue
			}
			if v := digits(bin); v > newest {
				newest, folder = v, bin
			}
		}
	}
	if folder == "" {
		return "", ErrNoPrograms
	}
	return folder, nil
}

func digits(s string) int {
	n := 0
	for _, r := range s {
		if r >= '0' && r <= '9' {
			n = 10*n + int(r-'0')
		}
	}
	return n
}

// account returns the user that runs the server. Any user will do, but PostgreSQL refuses to run as root: then it is the first
// of these users that exists.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres or nobody")
}
