package confdsvc

import (
	"context"
	"slices"

	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// nestsList lets a client write an object together with the list of a relation's Set, with recursive=true, as a GET shows it: the attribute is
// the list of S, the type of what is shown, or an object that has it under the name of inside.
func nestsList[S, L, R any](e *crud.Engine, relation crud.Relation[L, R], name, inside string) crud.Nested[L] {
	body := func() *rest.Schema {
		list := listAsShown[S](e, relation)
		if inside == "" {
			return list
		}
		return &rest.Schema{
			Type: "object", Nullable: true, Name: list.Items.Name + "s", Properties: []rest.Property{{Name: inside, Schema: list}},
		}
	}
	return crud.Nested[L]{
		Name: name, Asked: true, Body: body, Partial: body,
		Write: func(ctx context.Context, c store.Conn, change *crud.Change[L], value any) (any, error) {
			if sent, ok := value.(map[string]any); ok {
				value = sent[inside]
			}
			if value == nil {
				return nil, nil
			}
			return nil, relation.SetNested(ctx, c, e, change, value)
		},
	}
}

// listAsShown is the list that a relation's Set takes, of objects as they are shown, as S: what is none of the list's own is taken, and ignored.
func listAsShown[S, L, R any](e *crud.Engine, relation crud.Relation[L, R]) *rest.Schema {
	list, shown := relation.ListSchema(e), *rest.SchemaOf[S]()
	shown.Name, shown.Properties = crud.Of[L](e).Schema.Name+"Nested"+crud.Of[R](e).Schema.Name, slices.Clone(shown.Properties)
	for i := range shown.Properties {
		p := &shown.Properties[i]
		if own := list.Items.Property(p.Name); own != nil {
			p.Schema = own.Schema
		} else {
			p.ReadOnly = true
		}
	}
	list.Items = &shown
	return list
}
