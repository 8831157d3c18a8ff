package acl

import (
	"encoding/binary"
	"slices"
	"strings"
)

// maxCoverWork bounds the search of one call of Covers: the nodes in all its
// sets of positions, plus coverStateWork for each set. Ordinary questions need
// a few dozen. Beyond the bound the input was made to be huge, and the result
// is false. The bound keeps the worst call within tens of milliseconds.
const (
	maxCoverWork   = 200_000
	coverStateWork = 8
)

// Covers reports whether a token with this Set and this Binding holds the whole
// of pattern: every access that pattern stands for is granted by some pattern
// of the Set (all of them taken together) and denied by none. It decides
// whether a caller has the access {service}.# of an undocumented operation, and
// whether a caller may delegate a pattern: a caller cannot give away what they
// do not hold in full.
//
// The keywords of pattern bind to its receiver, who is not known. So me in
// pattern stands for any user:
//
//   - me, * and # grant it, since they give the receiver over themselves what
//     the holder has over themselves; the UUID of one user,
//     the holder included, does not;
//   - me, my_session, *, # and every word in the form of a UUID deny it.
//
// The same holds for my_session. The holder's own UUID, written out in pattern,
// equals me in the Set. The wildcards of pattern stand for every word: the
// holder's UUID, the receiver's, and words that no pattern names.
//
// A pattern that starts with ! takes rights away, so every compiled Set covers
// it. But REMOVING such a pattern from a list gives rights: a caller who
// removes one must ask about the pattern without its !.
//
// Covers ignores the limits on the length of an access. This can only turn a
// yes into a no, for a few lists that enumerate lengths up to the last possible
// word. The result is also false for an invalid pattern, for a nil Set, and
// where the search would take too long.
func (s *Set) Covers(pattern string, b Binding) bool {
	return s.Grants(pattern, b) && !slices.ContainsFunc(s.Denials(), func(denied string) bool {
		return !strings.HasPrefix(pattern, "!") && Meet(pattern, denied, b)
	})
}

// Grants is Covers for a Set without its denials.
func (s *Set) Grants(pattern string, b Binding) bool {
	if s == nil || ParsePattern(pattern) != nil {
		return false
	}
	denies, positive := cutDenial(FoldUUIDs(pattern))
	if denies {
		return true
	}
	if s.granting == nil {
		return false
	}
	c := cover{trie: s.granting, asked: canonical(splitWords(make([]string, 0, MaxWords), positive)), binding: b}
	return c.holds()
}

// Meet reports whether both patterns stand for some one access: what is asked,
// whose keywords stand for any UUID, as in Covers, and a pattern of the holder
// whose Binding it is. Neither begins with a !, and both are valid.
func Meet(asked, holders string, b Binding) bool {
	var one, other [MaxWords]string
	return intersect(canonical(splitWords(one[:0], FoldUUIDs(asked))), splitWords(other[:0], FoldUUIDs(holders)), b)
}

// intersect reports whether some access is matched by both asked and denied, a
// pattern of the holder. Bit j of row i says that some access leads i words
// into asked and j words into denied.
func intersect(asked, denied []string, b Binding) bool {
	var rows [MaxWords + 2]uint64
	rows[0] = 1
	for i := range len(asked) + 1 {
		askedStays := i > 0 && asked[i-1] == wordMany
		for j := range len(denied) + 1 {
			if rows[i]&(1<<j) == 0 {
				continue
			}
			if i < len(asked) && j < len(denied) && meets(asked[i], denied[j], b) {
				rows[i+1] |= 1 << (j + 1) //nolint:gosec // rows has a row more than asked has words
			}
			if askedStays && j < len(denied) {
				rows[i] |= 1 << (j + 1)
			}
			if i < len(asked) && j > 0 && denied[j-1] == wordMany {
				rows[i+1] |= 1 << j //nolint:gosec // rows has a row more than asked has words
			}
		}
	}
	return rows[len(asked)]&(1<<len(denied)) != 0
}

// meets reports whether one word of an access can match both asked and, for the
// holder, denied.
func meets(asked, denied string, b Binding) bool {
	switch {
	case isWildcard(asked) || isWildcard(denied):
		return true
	case isKeyword(asked): // a UUID, and it can be any
		return isKeyword(denied) || isUUID(denied) || denied == b.User || denied == b.Session
	default:
		return asked == b.value(denied)
	}
}

func isWildcard(word string) bool { return word == wordAny || word == wordMany }

func isKeyword(word string) bool { return word == wordMe || word == wordSession }

// isUUID reports whether word has the form of a UUID, in either case.
func isUUID(word string) bool {
	if len(word) != 36 {
		return false
	}
	for i := range len(word) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (word[i] == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(word[i])) {
			return false
		}
	}
	return true
}

// cover searches for an access that asked stands for and that no positive
// pattern of the set grants.
//
// It reads asked word by word, together with the set of all positions of the
// positive patterns. For * and # it tries only one word: one that no pattern
// names. What the patterns grant of that word they grant of every other word,
// since a named word can only add positions; and there are infinitely many
// words, so a list of literals never adds up to a wildcard. It remains to try
// how many words each # stands for. The sets of positions soon repeat, and each
// is visited once.
type cover struct {
	trie    *trie
	asked   []string
	binding Binding
	visited [MaxWords + 1]map[string]bool // sets of positions by words of asked read
	work    int
	memory  memory
	key     []byte
}

// coverState is a point in the search: how many words of asked are read, and
// the positions that the positive patterns are in.
type coverState struct {
	read  int
	nodes []uint32
}

// holds reports that the search finds no such access.
func (c *cover) holds() bool {
	todo := []coverState{{nodes: []uint32{0}}}
	for len(todo) > 0 {
		from := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if from.read == len(c.asked) && !c.trie.met(from.nodes) {
			return false
		}
		if from.read > 0 && c.asked[from.read-1] == wordMany {
			to, open := c.read(from, letter{})
			if !c.push(&todo, to, open) {
				return false
			}
		}
		if from.read < len(c.asked) {
			to, open := c.read(from, c.letter(c.asked[from.read]))
			to.read++
			if !c.push(&todo, to, open) {
				return false
			}
		}
	}
	return true
}

// push adds a state to those still to visit, if it is open and new. It returns
// false when the question is decided: the patterns have no position left while
// asked can always go on, or the search has become too long.
func (c *cover) push(todo *[]coverState, to coverState, open bool) bool {
	if !open {
		return true
	}
	if c.work += len(to.nodes) + coverStateWork; len(to.nodes) == 0 || c.work > maxCoverWork {
		return false
	}
	if c.isNew(to) {
		*todo = append(*todo, to)
	}
	return true
}

// read returns the state after one more word. The state is not open if
// everything that may follow is granted.
func (c *cover) read(from coverState, l letter) (to coverState, open bool) {
	p := c.memory.positions(c.trie, from.nodes...)
	nodes, met := c.trie.step(&l, &p, c.memory.next)
	slices.Sort(nodes)
	return coverState{from.read, slices.Clone(nodes)}, !met
}

// letter returns a word of asked as the positive patterns see it.
func (c *cover) letter(word string) letter {
	switch word {
	case wordAny, wordMany:
		return letter{}
	case wordMe:
		return letter{me: true}
	case wordSession:
		return letter{session: true}
	default:
		return c.binding.letter(word)
	}
}

// isNew reports whether the search meets the state for the first time.
func (c *cover) isNew(s coverState) bool {
	c.key = c.key[:0]
	for _, i := range s.nodes {
		c.key = binary.LittleEndian.AppendUint32(c.key, i)
	}
	visited := c.visited[s.read]
	if visited == nil {
		visited = make(map[string]bool)
		c.visited[s.read] = visited
	}
	if visited[string(c.key)] {
		return false
	}
	visited[string(c.key)] = true
	return true
}
