package declaration

import "strings"

// SQL is SQL that may read other tables than the collection's own. Their names stand in braces, each with an alias: "SELECT v.number FROM
// {confd_voicemail} v". For a caller who is denied to read the objects there, or that they are linked, they are read without them. A table
// in braces with a plus, {+confd_user}, is read as it is: the declaration says why nobody learns anything by it. A collection's may be followed
// by paths below an object, as words: {confd_user funckeys.templates} has no user of whom these are denied.
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
