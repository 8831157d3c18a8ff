package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/ringfence/ringfence/internal/store"
)

func TestFoldIsStable(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		once := store.Fold(string(r))
		if twice := store.Fold(once); twice != once {
			t.Errorf("%U folds to %+q and then to %+q", r, once, twice)
		}
		if lower := unicode.ToLower(r); r < 0x530 && lower < 0x530 && store.Fold(string(lower)) != once {
			t.Errorf("%U folds to %+q and its lower case to %+q", r, once, store.Fold(string(lower)))
		}
		if r >= 0x80 && strings.ContainsAny(once, `%_\`) {
			t.Errorf("%U folds to %q, which LIKE reads", r, once)
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"", "Bob", "É ß İ Å Ǆ ñ Ω ά Ё ﬁ", "\u0301\u0345\u0301", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := store.Fold(s)
		if twice := store.Fold(once); twice != once {
			t.Errorf("%q folds to %+q and then to %+q", s, once, twice)
		}
	})
}

func TestCheckPayload(t *testing.T) {
	for payload, ok := range map[string]bool{"": true, strings.Repeat("x", 7999): true, strings.Repeat("x", 8000): false, "a\x00": false, "\xff": false} {
		if err := store.CheckPayload(payload); (err == nil) != ok {
			t.Errorf("a payload of %d bytes: %v", len(payload), err)
		}
	}
}

func TestConstraintError(t *testing.T) {
	cause := errors.New("duplicate key")
	err := fmt.Errorf("creating a user: %w", &store.ConstraintError{Kind: store.Unique, Constraint: "auth_login_pkey", Err: cause})
	if !store.IsConstraint(err, store.Unique) || store.IsConstraint(err, store.Check) || store.IsConstraint(cause, store.Unique) {
		t.Errorf("the kind of %v is wrong", err)
	}
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "auth_login_pkey") {
		t.Errorf("%v has lost its cause", err)
	}
}

func TestJSONIsItsValue(t *testing.T) {
	type row struct {
		List store.JSON[[]string] `json:"list"`
	}
	in := row{List: store.JSON[[]string]{V: []string{"a", "b"}}}
	text, err := json.Marshal(in)
	if err != nil || string(text) != `{"list":["a","b"]}` {
		t.Errorf("%s, %v", text, err)
	}
	var out row
	if err := json.Unmarshal(text, &out); err != nil || len(out.List.V) != 2 {
		t.Errorf("%v, %v", out, err)
	}
	if err := new(store.JSON[int]).Scan(1.5); err == nil {
		t.Error("a number was read as JSON text")
	}
}
