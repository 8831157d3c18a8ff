package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ringfence/ringfence/internal/rest"
)

// resource stands for a resource of confd: each pair of type parameters makes another type.
type resource[A, B any] struct {
	ID          int64             `json:"id" readOnly:"true"`
	UUID        string            `json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID  string            `json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        string            `json:"name" required:"true" maxLength:"128"`
	Label       *string           `json:"label" maxLength:"128" pattern:"^[-_.a-zA-Z0-9 ]+$"`
	Number      string            `json:"number" required:"true" pattern:"^[0-9]{1,40}$" example:"1000"`
	Language    *string           `json:"language" pattern:"^[a-z]{2}_[A-Z]{2}$" example:"en_US"`
	Email       *string           `json:"email" format:"email" maxLength:"254"`
	Strategy    string            `json:"strategy" enum:"all,random,linear" default:"all"`
	Timeout     *int64            `json:"timeout" minimum:"0" maximum:"10800" default:"30"`
	Retries     int32             `json:"retries" default:"5"`
	Enabled     bool              `json:"enabled" default:"true"`
	Description *string           `json:"description" multiline:"true" maxLength:"4096"`
	Options     [][]string        `json:"options" default:"[]" maxItems:"100" items.minItems:"2" items.maxItems:"2" items.items.maxLength:"256"`
	Variables   map[string]string `json:"variables"`
	CreatedAt   time.Time         `json:"created_at" readOnly:"true"`
	Address     address           `json:"address"`
	Others      []address         `json:"others" readOnly:"true"`
	Left        A                 `json:"left" readOnly:"true"`
	Right       B                 `json:"right" readOnly:"true"`
}

type (
	kindA struct{}
	kindB struct{}
	kindC struct{}
	kindD struct{}
	kindE struct{}
)

func resources[A any]() []*rest.Schema {
	return []*rest.Schema{
		rest.SchemaOf[resource[A, kindA]](), rest.SchemaOf[resource[A, kindB]](), rest.SchemaOf[resource[A, kindC]](),
		rest.SchemaOf[resource[A, kindD]](), rest.SchemaOf[resource[A, kindE]](), rest.SchemaOf[resource[A, left]](),
		rest.SchemaOf[resource[A, common]](), rest.SchemaOf[resource[A, address]](),
	}
}

// large returns a service of 400 operations on 40 types, as its package would declare it.
func large() *rest.Service {
	var ops []rest.Operation
	handle := op("GET", "/x", "").Handle
	for i, schemas := range [][]*rest.Schema{resources[kindA](), resources[kindB](), resources[kindC](), resources[kindD](), resources[kindE]()} {
		for j, schema := range schemas {
			name := fmt.Sprintf("r%d%d", i, j)
			path, access := "/"+name, "confd."+name
			one, oneAccess := path+"/{id}", access+".{id}"
			link, linkAccess := one+"/others/{other_id}", oneAccess+".others.{other_id}"
			add := func(o rest.Operation, id string) {
				o.ID, o.Success, o.Tenanted, o.Handle = id+"_"+name, http.StatusOK, true, handle
				ops = append(ops, o)
			}
			add(rest.Operation{Method: "GET", Path: path, Access: access + ".read", Query: userList.Parameters(), Reply: rest.ListOf(schema, false)}, "list")
			add(rest.Operation{Method: "POST", Path: path, Access: access + ".create", Body: schema, Reply: schema}, "create")
			add(rest.Operation{Method: "GET", Path: one, Access: oneAccess + ".read", Reply: schema, Conditional: true}, "get")
			add(rest.Operation{Method: "PUT", Path: one, Access: oneAccess + ".update", Body: schema.Partial()}, "update")
			add(rest.Operation{Method: "DELETE", Path: one, Access: oneAccess + ".delete"}, "delete")
			add(rest.Operation{Method: "PUT", Path: link, Access: linkAccess + ".update"}, "link")
			add(rest.Operation{Method: "DELETE", Path: link, Access: linkAccess + ".delete"}, "unlink")
			add(rest.Operation{Method: "PUT", Path: one + "/others", Access: oneAccess + ".others.update", Body: rest.SchemaOf[page[address]]()}, "set")
			add(rest.Operation{Method: "GET", Path: one + "/part", Access: oneAccess + ".part.read", Reply: rest.SchemaOf[address]()}, "get_part")
			add(rest.Operation{Method: "PUT", Path: one + "/part", Access: oneAccess + ".part.update", Body: rest.SchemaOf[address]()}, "update_part")
		}
	}
	return declared(ops...)
}

// BenchmarkMount describes and mounts 400 operations: as at the start of the program, as in a reload, and with the definition,
// which the first request for it writes.
func BenchmarkMount(b *testing.B) {
	for name, prepare := range map[string]func(){"start": rest.ForgetSchemas, "reload": func() {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				prepare()
				if err := large().Mount(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("definition", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := large()
			if err := s.Mount(); err != nil {
				b.Fatal(err)
			}
			if len(s.Definition()) == 0 {
				b.Fatal("no definition")
			}
		}
	})
}
