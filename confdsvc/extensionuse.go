package confdsvc

import (
	"context"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/store"
)

// extensionUse is a kind of object that an extension may lead to: one kind at a time.
type extensionUse struct {
	// Kind is its name in refusals, Owner its name if it keeps the extension from being deleted.
	Kind, Owner string
	// Type is the required type of the extension's context, and of the context's ranges that must contain the number; "" means
	// any.
	Type, Ranges string
	// OutsideAtFirst says that the number is checked against the ranges only when it changes, not when the two are joined.
	OutsideAtFirst bool

	table string // that joins it with extensions, by a column extension_id
}

// extensionUses are all kinds, by the relations that join them with extensions.
var extensionUses []extensionUse

// usesExtensions says that a relation joins objects of a kind with the extensions that lead to them.
func usesExtensions[L any](of crud.Relation[L, Extension], use extensionUse) extensionUse {
	use.table = string(of)
	extensionUses = append(extensionUses, use)
	return use
}

// checkExtensionUses panics because of a relation with extensions that is none of the kinds, which every start reports: the others would not
// know that an extension is taken.
func checkExtensionUses(e *crud.Engine) {
	for _, table := range e.Joining("extensions") {
		if !slices.ContainsFunc(extensionUses, func(use extensionUse) bool { return use.table == table }) {
			panic(table + " joins something with extensions, and no extensionUse says what they lead to")
		}
	}
}

// fits refuses an extension that another kind of object uses, or whose context or number does not suit this kind.
func fits[L any](use extensionUse) crud.Check[L, Extension] {
	if use.OutsideAtFirst {
		use.Ranges = ""
	}
	return crud.Each(func(ctx context.Context, c store.Conn, pair *crud.Pair[L, Extension]) error {
		if !pair.RightUnlinked(ctx) {
			used, err := useOf(ctx, c, pair.Right)
			if err != nil {
				return err
			}
			if used != nil && used.Kind != use.Kind {
				return style.Associated("Extension", used.Kind, "extension_id", pair.Right.ID)
			}
		}
		return use.takes(ctx, c, pair.Right)
	})
}

// takes refuses an extension whose context is of another type, or whose number is in none of the context's ranges.
func (u extensionUse) takes(ctx context.Context, c store.Conn, x *Extension) error {
	in, err := contextNamed(ctx, c, x.Context)
	if err != nil {
		return err
	}
	if in.Type != u.Type {
		return style.Storedf("ContextType '%s' cannot be associated ('id': %d, 'context': '%s')", in.Type, x.ID, x.Context).On("context")
	}
	if u.Ranges == "" || strings.HasPrefix(x.Exten, "_") {
		return nil
	}
	ranges, _ := in.ranges(u.Ranges)
	for _, r := range ranges {
		if r.holds(x.Exten) {
			return nil
		}
	}
	return apierr.New(apierr.Invalid, "Extension '%s' is outside of range for context '%s'", x.Exten, x.Context).On("exten")
}

// useOf returns the kind of object that uses the extension, or nil.
func useOf(ctx context.Context, c store.Conn, x *Extension) (*extensionUse, error) {
	for i := range extensionUses {
		use := &extensionUses[i]
		n, err := store.Get[int](ctx, c, "SELECT count(*) FROM "+use.table+" WHERE extension_id = $1", x.ID)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return use, nil
		}
	}
	return nil, nil
}
