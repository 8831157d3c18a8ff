package confdsvc

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/principal"
	"github.com/ringfence/ringfence/internal/store"
)

// People returns the telephone users of some numbers and UUIDs, whichever tenants they are in (principal.People). Other names are nobody's.
func People(ctx context.Context, c store.Conn, names []string) ([]principal.Person, error) {
	var numbers, uuids []any
	for _, name := range names {
		if id, err := strconv.ParseInt(name, 10, 64); err == nil {
			numbers = append(numbers, id)
		} else if id, err := uuid.Parse(name); err == nil {
			uuids = append(uuids, id.String())
		}
	}
	var which []string
	if len(numbers) > 0 {
		which = append(which, "id IN ("+crud.Placeholders(1, len(numbers))+")")
	}
	if len(uuids) > 0 {
		which = append(which, "uuid IN ("+crud.Placeholders(1+len(numbers), len(uuids))+")")
	}
	if len(which) == 0 {
		return nil, nil
	}
	query := "SELECT CAST(id AS text) AS id, uuid FROM confd_user WHERE " + strings.Join(which, " OR ")
	return store.Select[principal.Person](ctx, c, query, append(numbers, uuids...)...)
}
