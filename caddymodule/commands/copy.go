package commands

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/ringfence/ringfence/internal/backup"
	"github.com/ringfence/ringfence/internal/local"
	"github.com/ringfence/ringfence/internal/operator"
	"github.com/ringfence/ringfence/internal/private"
	"github.com/ringfence/ringfence/internal/store/open"
)

// copied returns a client of the services on a copy of a database, which is removed when it is closed.
func copied(ctx context.Context, of backup.Options) (_ *operator.Client, closeAll func() error, err error) {
	folder, err := os.MkdirTemp("", "ringfence-backup-") // mode 0700: it has all secrets
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	of.WithoutKeys = true // nothing that is sealed is read
	file := filepath.Join(folder, "backup.zip")
	err = private.CreateBy(file, func(w io.Writer) error {
		_, err := backup.Create(ctx, of, w)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return opened(ctx, file)
}

// opened makes an installation of a backup, and returns a client of its services. It is removed when it is closed.
func opened(ctx context.Context, file string) (_ *operator.Client, closeAll func() error, err error) {
	f, err := backup.Open(ctx, file)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	folder, err := os.MkdirTemp("", "ringfence-copy-") // mode 0700: it has all secrets
	if err != nil {
		return nil, nil, err
	}
	at := backup.Options{Data: filepath.Join(folder, "data"), Database: open.SQLiteScheme + filepath.Join(folder, "data", "ringfence.db"), WithoutKeys: true}
	var c *operator.Client
	var closeIt func() error
	if _, err = f.Restore(ctx, at, true); err == nil {
		c, closeIt, err = servedFrom(ctx, at.Database)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(folder))
	}
	return c, func() error { return errors.Join(closeIt(), os.RemoveAll(folder)) }, nil
}

// localServer is the server of clients of this process.
const localServer = "http://local"

// servedFrom returns a client of the services of this process on a database, for the operator of this machine.
func servedFrom(ctx context.Context, database string) (_ *operator.Client, closeAll func() error, err error) {
	db, err := openExisting(ctx, database)
	if err != nil {
		return nil, nil, err
	}
	services, err := NewServices(db)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	client := &http.Client{Transport: local.Transport{Handler: services}, CheckRedirect: operator.NoRedirects}
	return &operator.Client{Server: localServer, HTTP: client}, func() error {
		services.Auth.Close()
		return db.Close()
	}, nil
}
