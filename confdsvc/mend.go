package confdsvc

import (
	"context"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// Mend makes what is stored such as requests could have written: see [crud.Engine.Mend].
func Mend(ctx context.Context, db store.DB, tell func(m crud.Mended) error) error {
	e := declared(db)
	e.Operations()                                                               // it makes the links known
	return e.Mend(ctx, func(path string) bool { return path != "sounds" }, tell) // some are made by this service alone
}
