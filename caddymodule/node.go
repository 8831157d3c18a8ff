package caddymodule

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"
)

// nodeKept is how long a node that is gone without a word is remembered.
const nodeKept = 7 * 24 * time.Hour

// announce says in the database that this node serves.
func (e *engine) announce(ctx context.Context) error {
	host, data := e.place()
	now := time.Now().UTC()
	_, err := e.db.Exec(ctx, `INSERT INTO node (host, data, version, started_at, seen_at, holder) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (host, data) DO UPDATE SET version = excluded.version, started_at = excluded.started_at, seen_at = excluded.seen_at, holder = excluded.holder`,
		host, data, Version, processStart.UTC(), now, e.telephone.holder())
	if err != nil {
		return err
	}
	_, err = e.db.Exec(ctx, `DELETE FROM node WHERE seen_at < $1`, now.Add(-nodeKept))
	return err
}

// leave says that this node serves no more. One that dies is seen no more.
func (e *engine) leave() error {
	if !e.started.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	host, data := e.place()
	_, err := e.db.Exec(ctx, `DELETE FROM node WHERE host = $1 AND data = $2`, host, data)
	return err
}

// place tells this node from others: by its machine and its data folder, which one process has at a time.
func (e *engine) place() (host, data string) {
	host, _ = os.Hostname()
	data, _ = filepath.Abs(e.data)
	return cmp.Or(host, "unknown"), cmp.Or(data, e.data)
}
