package backup

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ringfence/ringfence/internal/store/migrations"
)

// format is the version of the file. A change of what its members mean needs the next one.
const format = 1

const manifestName = "manifest.json"

// Manifest says what a backup has.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // the version of the program that made it
	Made    time.Time `json:"made"`
	Engine  string    `json:"engine"` // the database that it was made from: postgres or sqlite
	Schema  int64     `json:"schema"` // the last migration
	// Keys are the IDs of the sealing keys that the database needs.
	Keys   []string      `json:"keys"`
	Tables []TableMember `json:"tables"`
	Files  []Member      `json:"files"`
}

// Member is a member of the archive, apart from the manifest.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // in bytes, uncompressed
	SHA256 string `json:"sha256"`
}

// TableMember is the member of a table.
type TableMember struct {
	Member
	Columns []Column `json:"columns"`
	Rows    int64    `json:"rows"`
	// LastNumber is the last number that the database gave a row, if it gives rows of this table a number.
	LastNumber int64 `json:"last_number,omitempty"`
}

// Rows returns the number of all rows.
func (m *Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

const tablePrefix, tableSuffix, filePrefix = "tables/", ".jsonl", "files/"

func tableMember(name string) string { return tablePrefix + name + tableSuffix }

// dataFiles are the files of the data folder that a backup may have, in the order in which a restore puts them into their places: a
// certificate that does not fit its key is made anew, and never the other way round.
var dataFiles = []string{keyFile, "tls/key.pem", "tls/certificate.pem", "admin-credentials"}

// keyFile holds the sealing keys.
const keyFile = "sealing-key"

// maxFile is the size of the largest of dataFiles, in bytes.
const maxFile = 1 << 20

// check refuses a manifest that this program does not understand, or that names what no backup has.
func (m *Manifest) check() error {
	latest, err := migrations.Latest()
	switch {
	case err != nil:
		return err
	case m.Format > format || m.Schema > latest:
		return fmt.Errorf("a newer release made it (%.40q): restore it with that one", m.Program)
	case m.Format != format:
		return fmt.Errorf("its format is %d, which no release has made", m.Format)
	case m.Engine != "postgres" && m.Engine != "sqlite":
		return fmt.Errorf("it was made from the database %.40q, which no release knows", m.Engine)
	case strings.ContainsFunc(m.Program, func(r rune) bool { return !unicode.IsPrint(r) }): // a terminal would obey it
		return fmt.Errorf("the program %.40q made it, which no release is", m.Program)
	}
	for _, f := range m.Files {
		name, ok := strings.CutPrefix(f.Name, filePrefix)
		if !ok || !slices.Contains(dataFiles, name) || f.Size < 0 || f.Size > maxFile {
			return fmt.Errorf("it has the file %.80q, or one of that size, which no backup has", f.Name)
		}
	}
	return nil
}

// checkTables refuses a manifest whose tables are not those of its schema.
func (m *Manifest) checkTables(want []table) error {
	if len(m.Tables) != len(want) {
		return fmt.Errorf("it has %d tables, and version %d of the schema has %d", len(m.Tables), m.Schema, len(want))
	}
	for i, t := range want {
		same := slices.EqualFunc(m.Tables[i].Columns, t.Columns, func(a, b Column) bool { return a.Name == b.Name && a.Type == b.Type })
		if m.Tables[i].Name != tableMember(t.Name) || !same || m.Tables[i].Rows < 0 || m.Tables[i].LastNumber < 0 {
			return fmt.Errorf("its table %.80q is not the %s of version %d of the schema", m.Tables[i].Name, t.Name, m.Schema)
		}
	}
	return nil
}
