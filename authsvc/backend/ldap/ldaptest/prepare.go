package ldaptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Where distributions put slapd, its schemas and its modules.
var (
	programs = []string{
		"/usr/sbin/slapd", "/usr/local/libexec/slapd", "/usr/libexec/slapd", "/usr/lib/openldap/slapd", "/opt/homebrew/opt/openldap/libexec/slapd",
	}
	schemaFolders = []string{"/etc/ldap/schema", "/etc/openldap/schema", "/usr/local/etc/openldap/schema", "/opt/homebrew/etc/openldap/schema"}
	moduleFolders = []string{"/usr/lib/ldap", "/usr/lib/openldap", "/usr/lib64/openldap", "/usr/libexec/openldap", "/usr/local/libexec/openldap"}
)

var errMissing = errors.New("slapd is not installed, and this test runs against it: apt-get install --no-install-recommends slapd")

// findProgram finds slapd. If AppArmor confines it to the system's folders, which it does by the program's path, findProgram
// returns a copy in folder.
func findProgram(folder string) (string, error) {
	found, err := exec.LookPath("slapd")
	for i := 0; err != nil && i < len(programs); i++ {
		found, err = exec.LookPath(programs[i])
	}
	if err != nil {
		return "", errMissing
	}
	if enabled, err := os.ReadFile("/sys/module/apparmor/parameters/enabled"); err != nil || !strings.HasPrefix(string(enabled), "Y") {
		return found, nil
	}
	program, err := os.ReadFile(found) //nolint:gosec // one of the paths above
	if err != nil {
		return "", fmt.Errorf("reading slapd: %w", err)
	}
	found = filepath.Join(folder, "slapd")
	return found, os.WriteFile(found, program, 0o700) //nolint:gosec // it has to run
}

// prepare writes the configuration and the certificate, and loads the entries.
func (s *Server) prepare() error {
	if err := os.Mkdir(s.path("data"), 0o700); err != nil {
		return err
	}
	if err := s.makeCertificates(); err != nil {
		return err
	}
	text, err := s.configuration()
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path("slapd.conf"), []byte(text), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("entries.ldif"), []byte(strings.Join(s.ldif, "\n\n")), 0o600); err != nil {
		return err
	}
	add := exec.Command(s.program, "-T", "add", "-f", s.path("slapd.conf"), "-l", s.path("entries.ldif")) //nolint:gosec,noctx // slapd itself
	out, err := add.CombinedOutput()
	if err != nil {
		return fmt.Errorf("loading the entries: %w:\n%s", err, out)
	}
	return nil
}

// configuration returns slapd.conf.
func (s *Server) configuration() (string, error) {
	schemas, err := folderWith("core.schema", schemaFolders)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range []string{"core", "cosine", "inetorgperson", "ppolicy"} { // since 2.5 the schema of ppolicy is built in
		path := filepath.Join(schemas, name+".schema")
		if _, err := os.Stat(path); err == nil || name != "ppolicy" {
			fmt.Fprintf(&b, "include %q\n", path)
		}
	}
	if modules, err := folderWith("back_mdb.*", moduleFolders); err == nil { // otherwise they are built in
		fmt.Fprintf(&b, "modulepath %q\nmoduleload back_mdb\nmoduleload ppolicy\n", modules)
	}
	if !s.withoutTLS {
		fmt.Fprintf(&b, "TLSCACertificateFile %q\nTLSCertificateFile %q\nTLSCertificateKeyFile %q\n",
			s.CAFile, s.path("server.pem"), s.path("server.key"))
	}
	for _, line := range s.directives {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, database, BaseDN, BaseDN, AdminPassword, s.path("data"), PolicyDN, HermitDN, ServiceDN)
	return b.String(), nil
}

// database is the second half of slapd.conf. Nobody may read passwords. The service account may read everything else, and
// everybody but the hermit their own entry.
const database = `
database mdb
maxsize 67108864
suffix %q
rootdn "cn=admin,%s"
rootpw %q
directory %q
dbnosync
index objectClass,uid,mail eq
overlay ppolicy
ppolicy_default %q
access to attrs=userPassword by anonymous auth by * none
access to dn.base=%q by anonymous auth by * none
access to * by dn.exact=%q read by self read by anonymous auth by * none
`

func folderWith(pattern string, folders []string) (string, error) {
	for _, folder := range folders {
		if found, err := filepath.Glob(filepath.Join(folder, pattern)); err == nil && len(found) > 0 {
			return folder, nil
		}
	}
	return "", fmt.Errorf("finding %s of slapd: it is in none of %s", pattern, strings.Join(folders, ", "))
}
