package sqlite_test

import (
	"testing"

	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB { return storetest.SQLite(t) })
}
