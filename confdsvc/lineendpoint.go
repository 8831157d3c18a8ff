package confdsvc

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/changes"
	"github.com/ringfence/ringfence/internal/store"
)

func hasEndpoint(ctx context.Context, c store.Conn, lineID int64) (bool, error) {
	return changes.Remember(ctx, "confd_line_endpoint", fmt.Sprint(lineID), func() (bool, error) {
		n, err := store.Get[int](ctx, c, `SELECT count(*) FROM confd_line_endpoint WHERE line_id = $1`, lineID)
		return n > 0, err
	})
}

// rememberEndpoint spares the transaction that gives a line its endpoint from asking for it.
func rememberEndpoint[E any](ctx context.Context, _ store.Conn, pair *crud.Pair[Line, E]) error {
	if !pair.Ends {
		changes.RememberAs(ctx, "confd_line_endpoint", fmt.Sprint(pair.Left.ID), true)
	}
	return nil
}

func needsEndpoint(ctx context.Context, c store.Conn, lineID int64) error {
	has, err := hasEndpoint(ctx, c, lineID)
	if err == nil && !has {
		err = style.NotAssociated("Line", "Endpoint", "line_id", lineID)
	}
	return err
}

func extensionLineHasEndpoint(ctx context.Context, c store.Conn, pair *crud.Pair[Line, Extension]) error {
	return needsEndpoint(ctx, c, pair.Left.ID)
}

// lineCanLoseEndpoint refuses to take the endpoint from a line that has a user or an extension.
func lineCanLoseEndpoint[E any](e *crud.Engine) crud.Check[Line, E] {
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[Line, E]) error {
		if err := userLines.RefuseRight(ctx, c, e, pair.Left); err != nil {
			return err
		}
		return lineExtensions.RefuseLeft(ctx, c, e, pair.Left)
	})
}
