package store

import (
	"context"
	"fmt"
)

// The statements of [Attempt]. UndoAttempt is the only one that runs after a statement has failed, and makes up for that.
const (
	beginAttempt = "SAVEPOINT attempt"
	UndoAttempt  = "ROLLBACK TO SAVEPOINT attempt"
	endAttempt   = "RELEASE SAVEPOINT attempt"
)

// Attempt runs fn in a transaction. If fn fails, what it has written is undone, and the transaction goes on, also after a statement
// that failed: the caller decides whether to continue. It must not where fn's error is no refusal: if the transaction itself has
// ended, such as by a serialization failure, InTx has to return that error. c is the Conn of a transaction that writes.
func Attempt(ctx context.Context, c Conn, fn func() error) error {
	if _, err := c.Exec(ctx, beginAttempt); err != nil {
		return err
	}
	err := fn()
	if err != nil {
		if _, undone := c.Exec(ctx, UndoAttempt); undone != nil {
			return fmt.Errorf("undoing an attempt: %w", undone)
		}
	}
	if _, ended := c.Exec(ctx, endAttempt); ended != nil {
		return fmt.Errorf("ending an attempt: %w", ended)
	}
	return err
}
