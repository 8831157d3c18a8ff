package wazo

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/ringfence/ringfence/internal/store/postgres"
)

// archiveMagic begins what pg_dump -Fc writes.
const archiveMagic = "PGDMP"

// peeked is how much of a file is looked at to tell what it is: a tar's magic ends at byte 262.
const peeked = 512

// withRows opens a dump, and calls read with its rows as text. The file is a backup of the platform (.tgz), the archive in it, or its text,
// the latter two also compressed. What read does not read of the text is an error of the dump only if read has none.
func withRows(ctx context.Context, name string, read func(text io.Reader) error) (err error) {
	file, err := os.Open(name) //nolint:gosec // the operator's own path
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	in, head, err := opened(file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	switch {
	case bytes.HasPrefix(head, []byte(archiveMagic)):
		err = throughPostgres(ctx, in, read)
	case bytes.Contains(head, []byte("PostgreSQL database")) || bytes.Contains(head, []byte("\\restrict ")):
		err = read(in)
	default:
		err = errors.New("it is neither a backup of the platform (.tgz), nor what pg_dump has written, as an archive (-Fc) or as text")
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// fromServer calls read with the rows of a running platform's database, of one snapshot, in the form of a dump. It writes nothing there.
func fromServer(ctx context.Context, address string, read func(text io.Reader) error) error {
	out, in := io.Pipe()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		err := postgres.CopyOut(ctx, address, func(name string) bool { return tables[name].kept() }, in)
		done <- err
		_ = in.CloseWithError(err)
	}()
	err := read(out)
	stop()
	_ = out.Close()
	if failed := <-done; failed != nil && (err == nil || errors.Is(err, failed)) {
		return failed
	}
	return err
}

// opened unpacks a file until a dump is left, and returns its beginning too.
func opened(file io.Reader) (_ *bufio.Reader, head []byte, err error) {
	in := bufio.NewReaderSize(file, 1<<16)
	if head, err = peek(in); err != nil {
		return nil, nil, err
	}
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		in = bufio.NewReaderSize(unzipped, 1<<16)
		if head, err = peek(in); err != nil {
			return nil, nil, err
		}
	}
	if len(head) >= 262 && string(head[257:262]) == "ustar" {
		return inBackup(tar.NewReader(in))
	}
	return in, head, nil
}

func peek(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(peeked)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return head, err
}

// inBackup finds the database's dump in a backup of the platform, which has other files too.
func inBackup(backup *tar.Reader) (*bufio.Reader, []byte, error) {
	for {
		member, err := backup.Next()
		if errors.Is(err, io.EOF) {
			return nil, nil, errors.New("the backup has no pg-backup/asterisk-*.dump: it is perhaps that of the files (data.tgz), not of the database (db.tgz)")
		}
		if err != nil {
			return nil, nil, err
		}
		if ok, _ := path.Match("asterisk-*.dump", path.Base(member.Name)); !ok || member.Typeflag != tar.TypeReg {
			continue
		}
		in := bufio.NewReaderSize(backup, 1<<16)
		head, err := peek(in)
		return in, head, err
	}
}

// throughPostgres has pg_restore, of PostgreSQL's own programs, write an archive's rows as text. It needs no server.
func throughPostgres(ctx context.Context, archive io.Reader, read func(text io.Reader) error) error {
	program, err := exec.LookPath("pg_restore")
	if err != nil {
		return errors.New("an archive of pg_dump is read by PostgreSQL's program pg_restore, which is missing here: install it (Debian: postgresql-client), " +
			"or run pg_restore --data-only -f rows.sql FILE elsewhere and import rows.sql")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	restore := exec.CommandContext(ctx, program, "--data-only", "-f", "-") //nolint:gosec // the program that was found
	restore.Stdin = archive
	var said limited
	restore.Stderr = &said
	text, err := restore.StdoutPipe()
	if err != nil {
		return err
	}
	if err := restore.Start(); err != nil {
		return fmt.Errorf("starting pg_restore: %w", err)
	}
	readErr := read(text)
	if readErr != nil {
		stop() // it would wait for a reader
	}
	err = restore.Wait()
	switch {
	case err != nil && strings.Contains(said.String(), "unsupported version"):
		return fmt.Errorf("pg_restore is older than the pg_dump that wrote the archive (%s): install a newer PostgreSQL client", said.line())
	case err != nil && said.Len() > 0:
		return fmt.Errorf("the archive is damaged or cut, says pg_restore: %s", said.line())
	case readErr != nil:
		return readErr
	case err != nil:
		return fmt.Errorf("pg_restore: %w", err)
	}
	return nil
}

// limited keeps the beginning of what a program says.
type limited struct{ bytes.Buffer }

func (l *limited) Write(text []byte) (int, error) {
	const most = 4 << 10
	if room := most - l.Len(); room > 0 {
		_, _ = l.Buffer.Write(text[:min(room, len(text))])
	}
	return len(text), nil
}

func (l *limited) line() string {
	line, _, _ := strings.Cut(l.String(), "\n")
	return fmt.Sprintf("%.200q", strings.TrimPrefix(line, "pg_restore: error: "))
}
