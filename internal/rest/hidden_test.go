package rest_test

import (
	"testing"

	"github.com/ringfence/ringfence/internal/rest"
)

// What names a hidden object is null or no item, and what shows something of one shows it no longer. What cannot be null stays.
func TestWithoutHiddenObjects(t *testing.T) {
	type item struct {
		UUID  string  `json:"uuid" required:"true" names:"things.uuid"`
		Label *string `json:"label" readOnly:"true"`
	}
	type toThing struct {
		ThingID int64   `json:"thing_id" required:"true" names:"things.id"`
		Name    *string `json:"thing_name" readOnly:"true"`
		Ring    *int64  `json:"ring"`
	}
	type holder struct {
		Thing  *string         `json:"thing" names:"things.name"`
		In     string          `json:"in" required:"true" names:"things.name"`
		Items  []item          `json:"items"`
		One    *item           `json:"one"`
		ByName map[string]item `json:"by_name"`
	}
	holders, union := *rest.SchemaOf[holder](), rest.UnionOf("", "type", rest.Kind{Value: "thing", Schema: rest.SchemaOf[toThing]()})
	holders.Properties = append(holders.Properties, rest.Property{Name: "to", Schema: union})
	hidden := func(_ string, value any) bool { return value == "a" }
	for before, want := range map[string]string{
		`{"thing":"a","in":"a"}`: `{"in":"a","thing":null}`,
		`{"thing":"b"}`:          `{"thing":"b"}`,
		`{"items":[{"uuid":"a","label":"x"},{"uuid":"b","label":"a"}]}`:      `{"items":[{"label":"a","uuid":"b"}]}`,
		`{"one":{"uuid":"a"},"by_name":{"1":{"uuid":"a"},"2":{"uuid":"b"}}}`: `{"by_name":{"2":{"uuid":"b"}},"one":null}`,
		`{"to":{"type":"thing","thing_id":"a","thing_name":"x","ring":1}}`:   `{"to":{"ring":1,"thing_id":"a","thing_name":null,"type":"thing"}}`,
		`{"to":{"type":"thing","thing_id":"b","thing_name":"x"}}`:            `{"to":{"thing_id":"b","thing_name":"x","type":"thing"}}`,
	} {
		value, err := rest.ParseJSON([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rest.Marshal(holders.Without(value, hidden)); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v, want %s", before, got, err, want)
		}
	}
}
