package confdsvc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
	"github.com/ringfence/ringfence/internal/tenant"
)

// MOH is music on hold: callers who wait hear it. Other objects refer to it by its name.
type MOH struct {
	UUID        string  `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID  string  `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name        string  `db:"name" json:"name" readOnly:"true" doc:"Made from the tenant and the UUID; what other objects name it by."`
	Label       string  `db:"label" json:"label" maxLength:"128" required:"true" or:"name"`
	Mode        string  `db:"mode" json:"mode" required:"true" enum:"files,custom,mp3" doc:"Where the music comes from: files, or a program."`
	Application *string `db:"application" json:"application" maxLength:"256" example:"/usr/bin/mpg123 -q -r 8000 -s /srv" doc:"What plays in the mode custom."`
	Sort        *string `db:"sort" json:"sort" enum:"alphabetical,random,random_start" doc:"The order of the files."`
	crud.Hrefs

	Files store.JSON[[]MOHFile] `db:"files" json:"files" default:"[]" readOnly:"true"`
}

// MOHFile is a file of a music on hold.
type MOHFile struct {
	Name string `json:"name"`
	audio.File
}

// place returns where the file is: Asterisk knows its format by the ending.
func (f MOHFile) place(m *MOH) []string {
	if name, is := strings.CutSuffix(f.Name, "."+f.Extension); is && name != "" {
		return []string{m.Name, f.Name}
	}
	return []string{m.Name, f.Name + "." + f.Extension}
}

func init() {
	resources = append(resources, declareMOH)
	docs["{moh_filename}"] = "The name of a file: letters, digits, `.`, `_` and `-`, and no dot at the beginning."
}

func declareMOH(e *crud.Engine) {
	columns := []string{"label", "name"}
	crud.Collect(e, crud.Resource[MOH]{
		Path: "moh", Singular: "moh", Param: "moh_uuid", Title: "MOH", Table: "confd_moh", Keys: []string{"uuid"},
		About: "Music on hold.", Lists: []string{"label", "mode", "files"},
		Order: columns, Filters: columns, SearchText: "search_text",
		Prepare: nameMOH,
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[MOH]) error {
			if m := change.New; m.Mode == "custom" && (m.Application == nil || *m.Application == "") {
				return apierr.New(apierr.Invalid, "custom mode must have an application").On("application")
			}
			return nil
		},
		Apart: map[string]func(m *MOH) []string{"files": func(m *MOH) (paths []string) {
			for _, f := range m.Files.V {
				paths = append(paths, "files."+rights.WordOf(f.Name))
			}
			return paths
		}},
		Guard: func(ctx context.Context, c store.Conn, change *crud.Change[MOH]) error {
			for _, f := range change.Old.Files.V {
				if err := crud.Of[MOH](e).NotDenied(change.Request, change.Old, "files."+rights.WordOf(f.Name)+".delete"); err != nil {
					return err
				}
			}
			return e.Unname(ctx, c, change.Request, musicName, change.Old.Name)
		},
	})
}

// mohFiles are the files of music on hold.
func mohFiles(folders func() AudioFolders) audioFiles[MOH] {
	return audioFiles[MOH]{
		param: "moh_filename", title: "MOH file", of: "a music on hold", rawBy: "known by the ending of the name",
		folder: func() audio.Folder { return folders().MOH },
		held: func(m *MOH) (all []heldFile) {
			for _, f := range m.Files.V {
				all = append(all, heldFile{name: f.Name, place: f.place(m), as: f.Name})
			}
			return all
		},
		declared: func(r *rest.Request) string { return audio.Declared(r.Param("moh_filename")) },
		add: func(_ *rest.Request, m *MOH, name string, f audio.File) (place []string, err error) {
			one := MOHFile{name, f}
			m.Files.V, err = withFile(m.Files.V, one, func(a, b MOHFile) int { return strings.Compare(a.Name, b.Name) })
			return one.place(m), err
		},
		take: func(_ context.Context, _ store.Conn, _ *rest.Request, m *MOH, name string) error {
			m.Files.V = slices.DeleteFunc(slices.Clone(m.Files.V), func(f MOHFile) bool { return f.Name == name })
			return nil
		},
	}
}

func nameMOH(ctx context.Context, c store.Conn, change *crud.Change[MOH]) error {
	if change.Old != nil {
		return nil
	}
	m := change.New
	slug, err := tenant.Slug(ctx, c, change.Tenant)
	m.Name = fmt.Sprintf("moh-%s-%s", slug, m.UUID)
	return err
}

// musicName is the tag `names` of columns that name a music on hold. Its deletion empties them.
const musicName = "moh.name"

// musicIsKnown is checkMusic as a hook.
func musicIsKnown[T any](e *crud.Engine) hook[T] {
	return func(ctx context.Context, c store.Conn, change *crud.Change[T]) error {
		return checkMusic(ctx, c, e, change)
	}
}

// checkMusic refuses the name of a music on hold that the object's tenant does not have, in the columns that name one. It checks only a changed
// name; an empty one means none. Every tenant has `default`, but for attributes with another name than music_on_hold.
func checkMusic[T any](ctx context.Context, c store.Conn, e *crud.Engine, change *crud.Change[T]) error {
	k := crud.Of[T](e)
	for _, col := range k.Columns {
		if col.Names != musicName {
			continue
		}
		name, title := k.Field(change.New, col.Name).(*string), "moh"
		if name == nil || *name == "" || change.Old != nil && !different(name, k.Field(change.Old, col.Name).(*string)) {
			continue
		}
		if col.Name == "music_on_hold" {
			if title = "MOH"; *name == "default" {
				continue
			}
		}
		known, err := e.Has(ctx, c, k.TenantOf(change.New), "moh", "name", *name)
		if err == nil && !known {
			err = crud.Missing(col.Name, title, col.Name, *name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
