package confdsvc

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/ringfence/ringfence/internal/apierr"
	"github.com/ringfence/ringfence/internal/audio"
	"github.com/ringfence/ringfence/internal/crud"
	"github.com/ringfence/ringfence/internal/crud/rights"
	"github.com/ringfence/ringfence/internal/rest"
	"github.com/ringfence/ringfence/internal/store"
)

// Sound is a category of sounds: a tenant's own, or those that Asterisk brings. Destinations name a sound as category/name.
type Sound struct {
	UUID       string `db:"uuid" json:"uuid" format:"uuid" readOnly:"true"`
	TenantUUID string `db:"tenant_uuid" json:"tenant_uuid" format:"uuid" readOnly:"true"`
	Name       string `db:"name" json:"name" required:"true" format:"sound-category" doc:"No other category of the tenant has it."`

	Files store.JSON[[]SoundFile] `db:"files" json:"files" default:"[]" readOnly:"true" doc:"The sounds."`
	crud.Hrefs
}

// SoundFile is a sound, in all its languages and formats.
type SoundFile struct {
	TenantUUID string        `json:"tenant_uuid" format:"uuid"`
	Name       string        `json:"name"`
	Formats    []SoundFormat `json:"formats" doc:"Its files."`
}

// SoundFormat is one file of a sound.
type SoundFormat struct {
	Format     string  `json:"format" example:"slin" doc:"Of a WAV it is slin."`
	Language   *string `json:"language" example:"en_US" doc:"Null: whatever language is spoken."`
	TenantUUID string  `json:"tenant_uuid" format:"uuid"`
	Text       *string `json:"text" example:"Welcome" doc:"What is said; null if nobody knows."`
	Path       string  `json:"path" example:"menus/welcome" doc:"What destinations name the sound by."`
	audio.File
}

// systemSounds is the category of the sounds that Asterisk brings, which every tenant has. Others have names that clients know otherwise.
const systemSounds = "system"

var otherSounds = []string{"monitor", "recordings-meetme", "languages"}

func init() {
	resources = append(resources, declareSounds)
	for _, id := range []string{"create_sound", "get_sound", "delete_sound"} {
		clientIDs[id] = id + "s"
	}
	docs["{sound_filename}"] = "The name of a sound, without the ending of its file: letters, digits, `.`, `_` and `-`, and no dot at the beginning."
}

func declareSounds(e *crud.Engine) {
	crud.Collect(e, crud.Resource[Sound]{
		Path: "sounds", Singular: "sound", Param: "sound_category", Title: "Sound", Table: "confd_sound", Keys: []string{"uuid"}, Names: []string{"name"},
		About: "Sounds that calls hear, by categories.", Lists: []string{"name", "files"}, Only: []string{"list", "create", "read", "delete"},
		Order: []string{"name"}, Filters: []string{"name"}, Search: []string{"name"},
		Validate: func(_ context.Context, _ store.Conn, change *crud.Change[Sound]) error {
			if change.Old == nil && slices.Contains(append(otherSounds, systemSounds), change.New.Name) {
				return apierr.InvalidField("name", "enum", "Is the name of something else")
			}
			return nil
		},
		Apart: map[string]func(s *Sound) []string{"files": (*Sound).filePaths},
		Guard: func(ctx context.Context, c store.Conn, change *crud.Change[Sound]) error {
			if change.Old.Name == systemSounds {
				return style.NotPermitted("Cannot delete default sound category", "sound_category", systemSounds)
			}
			for _, path := range change.Old.filePaths() {
				if err := crud.Of[Sound](e).NotDenied(change.Request, change.Old, path+".delete"); err != nil {
					return err
				}
			}
			return soundIsUnused(ctx, c, e, change.Old, "")
		},
	})
}

// filePaths returns where clients read the files, below the object, as words of accesses.
func (s *Sound) filePaths() (paths []string) {
	for _, f := range s.Files.V {
		paths = append(paths, "files."+rights.WordOf(f.Name))
	}
	return paths
}

// place returns where a file of a sound is.
func (s *Sound) place(name string, f SoundFormat) []string {
	if f.Language == nil {
		return []string{s.UUID, name + "." + f.Extension}
	}
	return []string{s.UUID, *f.Language, name + "." + f.Extension}
}

// withFormat returns the sounds with one file more, or another in its place.
func (s *Sound) withFormat(name string, one SoundFormat) (err error) {
	sound := SoundFile{TenantUUID: s.TenantUUID, Name: name}
	if i := slices.IndexFunc(s.Files.V, func(f SoundFile) bool { return f.Name == name }); i >= 0 {
		sound.Formats = s.Files.V[i].Formats
	}
	order := func(a, b SoundFormat) int {
		return cmp.Or(strings.Compare(a.language(), b.language()), strings.Compare(a.Format, b.Format))
	}
	if sound.Formats, err = withFile(sound.Formats, one, order); err == nil {
		s.Files.V, err = withFile(s.Files.V, sound, func(a, b SoundFile) int { return strings.Compare(a.Name, b.Name) })
	}
	return err
}

// language returns the language, or "" for all.
func (f SoundFormat) language() string {
	if f.Language == nil {
		return ""
	}
	return *f.Language
}

// languageForm is that of a language, which is a folder.
var languageForm = regexp.MustCompile(`^[a-zA-Z0-9][-_.a-zA-Z0-9]{1,39}$`)

// matches reports whether a request's format and language are those of a file.
func (f SoundFormat) matches(r *rest.Request) bool {
	format, one := r.Query("format")
	language, spoken := r.Query("language")
	return (!one || format == f.Format || format == f.Extension) && (!spoken || language == f.language())
}

// checkSoundQuery refuses a format or a language that there is not.
func checkSoundQuery(r *rest.Request) error {
	if format, sent := r.Query("format"); sent && !slices.Contains(audio.Formats(), format) {
		return apierr.InvalidField("format", "enum", "Must be one of %s", strings.Join(audio.Formats(), ", "))
	}
	if language, sent := r.Query("language"); sent && !languageForm.MatchString(language) {
		return apierr.InvalidField("language", "regex", "Must be the name of a language, such as fr_FR")
	}
	return nil
}

// soundFiles are the files of sounds.
func soundFiles(e *crud.Engine, folders func() AudioFolders) audioFiles[Sound] {
	return audioFiles[Sound]{
		param: "sound_filename", title: "Sound file", of: "a sound", rawBy: "known by the parameter `format`",
		query: []rest.Parameter{
			{Name: "format", Description: "How Asterisk calls the format, or `slin` for a WAV.", Schema: &rest.Schema{Type: "string", Enum: audio.Formats()}},
			{
				Name: "language", Description: "The language: `fr_FR`. Without it, a sound that is sent is for all languages.",
				Schema: &rest.Schema{Type: "string", Pattern: languageForm.String()},
			},
		},
		check:  checkSoundQuery,
		folder: func() audio.Folder { return folders().Sounds },
		held: func(s *Sound) (all []heldFile) {
			for _, f := range s.Files.V {
				for _, one := range f.Formats { // those for all languages are first
					held := heldFile{name: f.Name, place: s.place(f.Name, one), as: f.Name + "." + one.Extension, matches: one.matches}
					if s.Name == systemSounds {
						held.folder, held.place = func() audio.Folder { return folders().System.In(*one.Language) }, []string{held.as}
					}
					all = append(all, held)
				}
			}
			return all
		},
		declared: func(r *rest.Request) string {
			format, _ := r.Query("format")
			return format
		},
		add: func(r *rest.Request, s *Sound, name string, f audio.File) (place []string, err error) {
			if s.Name == systemSounds {
				return nil, style.NotPermitted("Cannot change the sounds of the system")
			}
			one := SoundFormat{Format: audio.FormatOf(f.Extension), TenantUUID: s.TenantUUID, Path: s.Name + "/" + name, File: f}
			if language, sent := r.Query("language"); sent {
				one.Language = &language
			}
			return s.place(name, one), s.withFormat(name, one)
		},
		take: func(ctx context.Context, c store.Conn, r *rest.Request, s *Sound, name string) error {
			if s.Name == systemSounds {
				return style.NotPermitted("Cannot change the sounds of the system")
			}
			files := slices.Clone(s.Files.V)
			i := slices.IndexFunc(files, func(f SoundFile) bool { return f.Name == name })
			if i < 0 {
				return nil
			}
			files[i].Formats = slices.DeleteFunc(slices.Clone(files[i].Formats), func(f SoundFormat) bool { return f.matches(r) })
			if len(files[i].Formats) > 0 {
				s.Files.V = files
				return nil
			}
			s.Files.V = slices.Delete(files, i, i+1)
			return soundIsUnused(ctx, c, e, s, name)
		},
	}
}

// addSounds adds the operations of files, and what is known of the sounds that Asterisk brings.
func addSounds(e *crud.Engine, folders func() AudioFolders) {
	soundFiles(e, folders).on(e)
	crud.Of[Sound](e).Present = func(_ context.Context, _ store.Conn, tenant string, sounds []*Sound) error {
		for _, s := range sounds {
			if s.Name == systemSounds && s.TenantUUID == tenant { // others show them too: one of many tenants is enough
				s.Files.V = systemFiles(folders().System, tenant)
			}
		}
		return nil
	}
	e.Add(rest.Operation{
		Method: http.MethodGet, Path: "/sounds/languages", Access: "confd.sounds.languages.read", ID: "list_sounds_languages", Tag: "sounds",
		Summary: "List the languages of the sounds that Asterisk brings", Success: http.StatusOK, Reply: rest.SchemaOf[SoundLanguages](), Tenanted: true,
		Handle: func(context.Context, *rest.Request) (rest.Reply, error) {
			out := SoundLanguages{Items: []SoundLanguage{}}
			for _, language := range audio.Languages(folders().System) {
				out.Items = append(out.Items, SoundLanguage{language})
			}
			out.Total = len(out.Items)
			return rest.Reply{Body: out}, nil
		},
	})
}

// SoundLanguages are the languages of the sounds that Asterisk brings.
type SoundLanguages struct {
	Items []SoundLanguage `json:"items"`
	Total int             `json:"total"`
}

// SoundLanguage is one of them.
type SoundLanguage struct {
	Tag string `json:"tag" example:"en_US" doc:"The language."`
}

// systemFiles returns the sounds that Asterisk brings.
func systemFiles(folder audio.Folder, tenantUUID string) []SoundFile {
	files := []SoundFile{}
	for _, f := range audio.System(folder) {
		one := SoundFormat{Format: audio.FormatOf(f.Extension), Language: &f.Language, TenantUUID: tenantUUID, Path: f.Name, File: f.File}
		if n := len(files); n > 0 && files[n-1].Name == f.Name {
			files[n-1].Formats = append(files[n-1].Formats, one)
			continue
		}
		files = append(files, SoundFile{tenantUUID, f.Name, []SoundFormat{one}})
	}
	return files
}

// soundPath is the tag `names` of what names a sound, as category/name.
const soundPath = "sounds.path"

// soundIsUnused refuses to delete a sound that something of its tenant plays, or that a destination leads to, or a category with such a sound, if
// name is "".
func soundIsUnused(ctx context.Context, c store.Conn, e *crud.Engine, s *Sound, name string) error {
	var uses []string
	for _, k := range e.Entities() {
		for _, col := range k.Columns {
			if col.Names == soundPath {
				uses = append(uses, "SELECT '"+k.Title+"' AS title, "+col.Name+" AS played, '' AS keys FROM "+k.Table+" WHERE tenant_uuid = $1 AND "+col.Name+
					" IS NOT NULL")
			}
		}
	}
	uses = append(uses, destinationsInTenant(e, "d.type = 'sound'")...)
	found, err := store.Select[destinationInTenant](ctx, c, strings.Join(uses, " UNION ALL "), s.TenantUUID)
	if err != nil {
		return err
	}
	for _, use := range found {
		if use.Keys != "" {
			var to ToSound
			if err := json.Unmarshal([]byte(use.Keys), &to); err != nil {
				return err
			}
			use.Played = to.Filename
		}
		if category, sound, _ := strings.Cut(use.Played, "/"); category == s.Name && (sound == name || name == "") {
			return style.Associated("Sound", use.Title, "sound_category", s.Name)
		}
	}
	return nil
}
