package declaration

import (
	"strings"

	"github.com/ringfence/ringfence/internal/rest"
)

// Underscored returns a path as a name of one word.
func Underscored(path string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(path) }

// Dotted returns a path as words of an access.
func Dotted(path string) string { return strings.ReplaceAll(path, "/", ".") }

// Spaced returns a name as words.
func Spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// Plural returns how people read what is at a path: "incoming calls".
func (b *Base) Plural(path string) string { return rest.Reading(b.Words, "/"+path, path) }

// One returns how people read one object, by its name in the singular: "an incoming call", "a user".
func (b *Base) One(singular string) string {
	text := rest.Reading(b.Words, singular)
	if strings.ContainsAny(text[:1], "aeio") {
		return "an " + text
	}
	return "a " + text
}

// Named says how a path names an object, in a sentence such as "The UUID of the group, or its number".
func (k *Entity) Named() string {
	var kinds []string
	for _, key := range k.Keys {
		kinds = append(kinds, map[ColumnKind]string{Identifier: "UUID", Integer: "number", Text: "name"}[k.byName[key].Kind])
	}
	kinds[0] += " of the " + rest.Reading(k.Words, k.Singular)
	return "The " + strings.Join(kinds, ", or its ") + "."
}

// Capitalized returns a name as it begins a sentence.
func Capitalized(name string) string {
	name = Spaced(name)
	return strings.ToUpper(name[:1]) + name[1:]
}

// SQL is SQL that may read other tables than the collection's own. Their names stand in braces, each with an alias: "SELECT v.number FROM
// {confd_voicemail} v". For a caller who is denied to read the objects there, or that they are linked, they are read without them. A table
// in braces with a plus, {+confd_user}, is read as it is: the declaration says why nobody learns anything by it. A collection's may be followed
// by paths below an object, as words: {confd_user funckeys.templates} has no user of whom these are denied. {=contexts.name context} is no table but
// a column, which is null where it has the name of a context that the caller may not know of.
type SQL struct {
	// Declared is what the declaration says; Plain is what it is for a caller who is denied nothing.
	Declared, Plain string
	// Pieces are its text and, between two texts, what stands in braces.
	Pieces []string
}

// ParseSQL finds what stands in braces.
func ParseSQL(sql string) SQL {
	s := SQL{Declared: sql}
	for rest := sql; ; {
		text, after, found := strings.Cut(rest, "{")
		if s.Pieces = append(s.Pieces, text); !found {
			break
		}
		var table string
		table, rest, _ = strings.Cut(after, "}")
		s.Pieces = append(s.Pieces, table)
	}
	for i, piece := range s.Pieces {
		if i%2 == 1 {
			piece, _, _ = strings.Cut(strings.TrimPrefix(piece, "+"), " ")
		}
		s.Plain += piece
	}
	return s
}
