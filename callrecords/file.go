package callrecords

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/ringfence/ringfence/asterisk/cdr"
	"github.com/ringfence/ringfence/internal/store"
)

// place is how far a file was read: by its first line it is known after logrotate has renamed it.
type place struct {
	First    string `db:"first"`
	Position int64  `db:"position"`
}

// maxLine is how many bytes a line of the file has at most.
const maxLine = 64 << 10

// readFile stores what Asterisk's file has since it was read last: first the rest of the one before, if the file was rotated meanwhile.
//
// Each part is stored by one transaction with how far it goes: interrupted, the next time begins with the same line. What events have told
// meanwhile is known by its name, and stored once.
func (s *Service) readFile(ctx context.Context, from Settings) error {
	if from.File == "" {
		return nil
	}
	known, err := store.Select[place](ctx, s.db, `SELECT first, position FROM call_record_file WHERE asterisk = $1`, from.Asterisk)
	if err != nil {
		return err
	}
	at := place{}
	if len(known) > 0 {
		at = known[0]
	}
	if first, err := firstLine(from.File); err != nil || first == "" { // there is none yet
		return s.unreadFile(err)
	} else if first != at.First && at.First != "" {
		if before, err := firstLine(from.File + ".1"); err == nil && before == at.First {
			if err := s.readRest(ctx, from.Asterisk, from.File+".1", at); err != nil {
				return err
			}
		}
		at = place{First: first}
	} else if at.First == "" {
		at.First = first
	}
	return s.readRest(ctx, from.Asterisk, from.File, at)
}

// unreadFile says why a file cannot be read, unless there is none. Trying again would not help.
func (s *Service) unreadFile(err error) error {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		slog.Warn("records of calls that nobody heard of cannot be read: let the gateway's user read Asterisk's file", "error", err)
	}
	return nil
}

// firstLine returns what tells a file from others, or "" if it has no whole line.
func firstLine(name string) (string, error) {
	f, err := os.Open(name) //nolint:gosec // the operator's own
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReaderSize(f, maxLine).ReadSlice('\n')
	if err != nil {
		return "", nil //nolint:nilerr // it is not whole
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:]), nil
}

// readRest stores the whole lines of a file from a place on.
func (s *Service) readRest(ctx context.Context, asterisk, name string, at place) error {
	f, err := os.Open(name) //nolint:gosec // the operator's own
	if err != nil {
		return s.unreadFile(err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || info.Size() < at.Position { // it was cut: what it has now is read from its beginning
		at.Position = 0
	}
	if _, err := f.Seek(at.Position, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(f, maxLine)
	for {
		var some []cdr.Record
		var read int
		for ; read < together; read++ {
			line, err := lines.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) { // the rest is not whole yet
				break
			}
			at.Position += int64(len(line))
			record, err := cdr.Parse(string(bytes.TrimRight(line, "\r\n")))
			if err != nil {
				s.strange(fmt.Errorf("%s: %w", name, err))
				continue
			}
			some = append(some, record)
		}
		if read == 0 {
			return nil
		}
		err := s.db.InTx(ctx, func(ctx context.Context, c store.Conn) error {
			if err := s.keep(ctx, c, asterisk, some); err != nil {
				return err
			}
			_, err := c.Exec(ctx, `INSERT INTO call_record_file (asterisk, first, position) VALUES ($1, $2, $3)
				ON CONFLICT (asterisk) DO UPDATE SET first = excluded.first, position = excluded.position`, asterisk, at.First, at.Position)
			return err
		})
		if err != nil {
			return err
		}
	}
}
