package rest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

type address struct {
	City    *string `json:"city" maxLength:"8"`
	Country string  `json:"country" default:"CA" minLength:"2"`
	Kept    string  `json:"kept" readOnly:"true"`
	Code    string  `json:"code" required:"true"`
}

type common struct {
	ID   int64  `json:"id" readOnly:"true"`
	Name string `json:"name" doc:"hidden by the nearer one"`
}

type person struct {
	common
	Name      string                        `json:"name" required:"true" minLength:"1" maxLength:"5" doc:"The items.maxLength of it: \"x\""`
	Email     *string                       `json:"email" format:"email"`
	UUID      *string                       `json:"uuid" format:"uuid"`
	Born      *time.Time                    `json:"born"`
	Role      *string                       `json:"role" enum:"user,admin" default:"user"`
	Notes     string                        `json:"notes" multiline:"true"`
	Code      string                        `json:"code" pattern:"^[a-z]+$" default:"abc"`
	Age       int                           `json:"age" minimum:"1" maximum:"150" default:"30"`
	Level     int8                          `json:"level"`
	AtLeast   int64                         `json:"at_least" minimum:"-3"`
	AtMost    int64                         `json:"at_most" maximum:"9007199254740993"`
	Ratio     *float64                      `json:"ratio" minimum:"0" maximum:"1"`
	Enabled   bool                          `json:"enabled" default:"true"`
	Tags      []string                      `json:"tags" default:"[]" maxItems:"3" items.maxLength:"4" items.pattern:"^[^,]*$"`
	Options   store.JSON[[][]string]        `json:"options" default:"[[\"a\",\"b\"]]" minItems:"1" items.minItems:"2" items.maxItems:"2" items.items.maxLength:"3"`
	Address   address                       `json:"address"`
	Other     *address                      `json:"other" doc:"Another one."`
	Addresses []address                     `json:"addresses"`
	Limits    map[string]int                `json:"limits"`
	Homes     map[string]address            `json:"homes"`
	Free      any                           `json:"free"`
	Raw       json.RawMessage               `json:"raw"`
	Loose     *store.JSON[map[string]any]   `json:"loose"`
	Empty     struct{}                      `json:"empty"`
	Link      store.JSON[map[string]string] `json:"link" readOnly:"true"`
	Secret    *string                       `json:"secret,omitempty" writeOnly:"true"`
	Hidden    string                        `json:"-"`
	internal  string                        //nolint:unused // shows that only exported fields are read
}

func TestSchemaOf(t *testing.T) {
	s := rest.SchemaOf[person]()
	if s.Type != "object" || s.Name != "person" || s.Nullable {
		t.Errorf("type %q, name %q", s.Type, s.Name)
	}
	var names []string
	for _, p := range s.Properties {
		names = append(names, p.Name)
	}
	want := "id name email uuid born role notes code age level at_least at_most ratio enabled tags options address other addresses limits homes free raw loose empty link secret"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("properties\n%s, want\n%s", got, want)
	}
	if p := s.Property("id"); !p.ReadOnly || p.Required || p.WriteOnly {
		t.Errorf("id: %+v", p)
	}
	if p := s.Property("name"); !p.Required || *p.Schema.MaxLength != 5 || p.Schema.Doc != `The items.maxLength of it: "x"` {
		t.Errorf("name: %+v", p.Schema)
	}
	if p := s.Property("secret"); !p.WriteOnly || !p.Schema.Nullable {
		t.Errorf("secret: %+v", p)
	}
	if p := s.Property("born").Schema; p.Type != "string" || p.Format != "date-time" || !p.Nullable {
		t.Errorf("born: %+v", p)
	}
	if p := s.Property("level").Schema; *p.Minimum != -128 || *p.Maximum != 127 {
		t.Errorf("level: %d to %d", *p.Minimum, *p.Maximum)
	}
	if p := s.Property("at_least").Schema; p.Maximum != nil {
		t.Errorf("at_least has a maximum: %d", *p.Maximum)
	}
	if p := s.Property("tags").Schema; p.Type != "array" || *p.MaxItems != 3 || *p.Items.MaxLength != 4 || string(p.Default) != "[]" || p.Nullable {
		t.Errorf("tags: %+v", p)
	}
	if p := s.Property("options").Schema; p.Type != "array" || *p.MinItems != 1 || *p.Items.MinItems != 2 || *p.Items.Items.MaxLength != 3 {
		t.Errorf("options: %+v", p)
	}
	if p := s.Property("other").Schema; p.Name != "address" || !p.Nullable || p.Doc != "Another one." {
		t.Errorf("other: %+v", p)
	}
	if p := s.Property("limits").Schema; p.Type != "object" || p.Values.Type != "integer" {
		t.Errorf("limits: %+v", p)
	}
	for _, name := range []string{"free", "raw"} {
		if p := s.Property(name).Schema; p.Type != "" || !p.Nullable {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if s.Property("hidden") != nil || s.Property("internal") != nil || s.Property("nope") != nil {
		t.Error("a property that must not be there")
	}
	if s.Property("name").Schema.Default != nil || string(s.Property("role").Schema.Default) != `"user"` {
		t.Error("defaults")
	}
}

type page[T any] struct {
	Items []T `json:"items"`
}

type pair[A, B any] struct {
	A A `json:"a"`
	B B `json:"b"`
}

func TestSchemaNamesOfGenericTypes(t *testing.T) {
	for want, s := range map[string]*rest.Schema{
		"pageaddress":        rest.SchemaOf[page[address]](),
		"pagepageaddress":    rest.SchemaOf[page[page[address]]](),
		"pageaddressaddress": rest.SchemaOf[page[pair[address, *address]]]().Property("items").Schema.Items,
		"pairstringTime":     rest.SchemaOf[pair[string, time.Time]](),
		"":                   rest.SchemaOf[struct{}](),
	} {
		if want == "pageaddressaddress" {
			want = "pairaddressaddress"
		}
		if s.Name != want {
			t.Errorf("%q, want %q", s.Name, want)
		}
	}
}

func TestPartial(t *testing.T) {
	s := rest.SchemaOf[person]()
	p := s.Partial()
	if p.Name != "personUpdate" {
		t.Errorf("name %q", p.Name)
	}
	for i, property := range p.Properties {
		if property.Required || property.Schema.Default != nil {
			t.Errorf("%s is required or has a default", property.Name)
		}
		if property.Name != s.Properties[i].Name || property.ReadOnly != s.Properties[i].ReadOnly {
			t.Errorf("%s differs", property.Name)
		}
	}
	if !s.Property("name").Required || s.Property("age").Schema.Default == nil {
		t.Error("the whole schema was changed too")
	}
	// Within a nested object, which is replaced as a whole, everything stays.
	if nested := p.Property("address").Schema; !nested.Property("code").Required || nested.Property("country").Schema.Default == nil {
		t.Error("the nested object is partial too")
	}
	if anonymous := rest.SchemaOf[struct{}]().Partial(); anonymous.Name != "" {
		t.Errorf("an anonymous one is called %q", anonymous.Name)
	}
}

func TestListOf(t *testing.T) {
	item := &rest.Schema{Type: "string"}
	s := rest.ListOf(item, false)
	if s.Property("items").Schema.Items != item || s.Property("total").Schema.Type != "integer" || s.Property("filtered") != nil {
		t.Errorf("%+v", s)
	}
	if rest.ListOf(item, true).Property("filtered") == nil {
		t.Error("no filtered")
	}
}

type recursive struct {
	Next []recursive `json:"next"`
}

type left struct {
	X int `json:"x"`
}

func TestSchemaOfPanics(t *testing.T) {
	for name, c := range map[string]struct {
		make func()
		want string
	}{
		"recursion":             {func() { rest.SchemaOf[recursive]() }, "holds itself"},
		"a type without a form": {func() { rest.SchemaOf[struct{ F chan int }]() }, "no json tag"},
		"a channel": {func() {
			rest.SchemaOf[struct {
				F chan int `json:"f"`
			}]()
		}, "F: there is none for a chan int"},
		"an unsigned integer": {func() {
			rest.SchemaOf[struct {
				F uint `json:"f"`
			}]()
		}, "none for a uint"},
		"a map of integers":      {func() { rest.SchemaOf[map[int]string]() }, "none for a map[int]string"},
		"a pointer to a pointer": {func() { rest.SchemaOf[**int]() }, "none for a *int"},
		"an embedded pointer":    {func() { rest.SchemaOf[struct{ *left }]() }, "only a struct can be embedded"},
		"no json tag":            {func() { rest.SchemaOf[struct{ F int }]() }, "F: it has no json tag"},
		"omitempty alone": {func() {
			rest.SchemaOf[struct {
				F int `json:",omitempty"`
			}]()
		}, "no json tag"},
		"pattern": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" pattern:"("`
			}]()
		}, "pattern: error parsing regexp"},
		"not a number": {func() {
			rest.SchemaOf[struct {
				F int `json:"f" minimum:"one"`
			}]()
		}, "minimum: strconv"},
		"a negative length": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" minLength:"-1"`
			}]()
		}, "minLength cannot be -1"},
		"not a boolean": {func() {
			rest.SchemaOf[struct {
				F int `json:"f" required:"yes"`
			}]()
		}, `required is true or false, not "yes"`},
		"unknown format": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" format:"mail"`
			}]()
		}, `no format "mail"`},
		"length of a number": {func() {
			rest.SchemaOf[struct {
				F int `json:"f" maxLength:"3"`
			}]()
		}, "maxLength does not go with type integer"},
		"items of a string": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" items.maxLength:"3"`
			}]()
		}, "items.maxLength does not go with type string"},
		"bounds of anything": {func() {
			rest.SchemaOf[struct {
				F any `json:"f" minimum:"3"`
			}]()
		}, "minimum does not go with anything"},
		"a misspelling": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" maxlength:"3"`
			}]()
		}, "the tag maxlength is spelt maxLength"},
		"items' misspelling": {func() {
			rest.SchemaOf[struct {
				F []string `json:"f" items.maxlength:"3"`
			}]()
		}, "F.items: the tag maxlength is spelt maxLength"},
		"default is not JSON": {func() {
			rest.SchemaOf[struct {
				F int `json:"f" default:"x"`
			}]()
		}, "its default is not JSON"},
		"default of another type": {func() {
			rest.SchemaOf[struct {
				F int `json:"f" default:"\"x\""`
			}]()
		}, "default: Must be an integer"},
		"default out of bounds": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" default:"c" enum:"a,b"`
			}]()
		}, "Must be one of a, b"},
		"default null": {func() {
			rest.SchemaOf[struct {
				F string `json:"f" default:"null"`
			}]()
		}, "May not be null"},
		"bounds of another size": {func() {
			rest.SchemaOf[struct {
				F int8 `json:"f" maximum:"128"`
			}]()
		}, "do not fit into a int8"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			c.make()
		})
	}
}

func TestBoundsOfSmallIntegers(t *testing.T) {
	type small struct {
		A int16 `json:"a" minimum:"0"`
		B int32 `json:"b"`
	}
	s := rest.SchemaOf[small]()
	if a := s.Property("a").Schema; *a.Minimum != 0 || *a.Maximum != 32767 {
		t.Errorf("a: %d to %d", *a.Minimum, *a.Maximum)
	}
	if b := s.Property("b").Schema; *b.Minimum != -2147483648 || *b.Maximum != 2147483647 {
		t.Errorf("b: %d to %d", *b.Minimum, *b.Maximum)
	}
}

func TestDefaultIsText(t *testing.T) {
	type texts struct {
		Number string  `json:"number" default:"1"`
		Quote  string  `json:"quote" default:"a\"<b"`
		Null   *string `json:"null" default:"null"`
	}
	var got texts
	if err := rest.SchemaOf[texts]().SetDefaults(&got); err != nil {
		t.Fatal(err)
	}
	if want := (texts{Number: "1", Quote: `a"<b`}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// Null stands for the default of what is made, and is no value that it can be changed to.
func TestNullIsDefault(t *testing.T) {
	type thing struct {
		Seconds *int    `json:"seconds" null:"default" default:"30"`
		Enabled bool    `json:"enabled" null:"default"`
		Name    *string `json:"name" null:"default"`
	}
	schema := rest.SchemaOf[thing]()
	null := map[string]any{"seconds": nil, "enabled": nil, "name": nil}
	if wrong := schema.Validate("", null); len(wrong) != 0 {
		t.Errorf("null on create: %v", wrong)
	}
	made := thing{Enabled: true}
	if err := schema.Object(null).Into(&made); err != nil || made.Seconds == nil || *made.Seconds != 30 || made.Enabled || made.Name != nil {
		t.Errorf("null made %+v: %v", made, err)
	}
	if wrong := schema.Partial().Validate("", null); len(wrong) != 3 || wrong[0].Constraint != "not_null" {
		t.Errorf("null in an update: %v", wrong)
	}
}
