package confdsvc_test

import (
	"testing"

	"github.com/ringfence/ringfence/confdsvc"
	"github.com/ringfence/ringfence/internal/store/storetest"
)

func TestMount(t *testing.T) {
	if _, err := confdsvc.New(confdsvc.Options{DB: storetest.SQLite(t)}); err != nil {
		t.Fatal(err)
	}
}
