package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ringfence/ringfence/internal/apierr"
)

// MaxDepth is how deep JSON may nest.
const MaxDepth = 32

// ParseJSON reads one JSON value strictly: duplicate names, names that differ
// only in case, invalid UTF-8, lone surrogates, a byte order mark, more than MaxDepth levels, and anything after the
// value are refused, with an *apierr.Error that says where and repeats nothing of the text. Numbers stay text (json.Number).
// What it accepts, encoding/json reads in the same way.
func ParseJSON(text []byte) (any, error) {
	p := parser{dec: jsontext.NewDecoder(bytes.NewBuffer(text))}
	value, err := p.value()
	if err != nil {
		return nil, p.refusal(err)
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, apierr.New(apierr.Invalid, "The body is not valid JSON: something follows the value")
	}
	return value, nil
}

// parser knows where it is, for the refusal.
type parser struct {
	dec  *jsontext.Decoder
	path []step
}

// step is a name in an object or, where the name is indexed, a place in a list.
type step struct {
	name    string
	index   int
	indexed bool
}

func (p *parser) value() (any, error) {
	switch p.dec.PeekKind() {
	case '{':
		return p.object()
	case '[':
		return p.list()
	case '"':
		token, err := p.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		return token.String(), nil
	case '0':
		raw, err := p.dec.ReadValue()
		return json.Number(raw.String()), err
	}
	token, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if token.Kind() == 'n' {
		return nil, nil
	}
	return token.Bool(), nil
}

// open reads the sign that begins an object or a list.
func (p *parser) open() error {
	if p.dec.StackDepth() >= MaxDepth {
		return apierr.New(apierr.Invalid, "The body nests deeper than %d levels", MaxDepth)
	}
	_, err := p.dec.ReadToken()
	return err
}

func (p *parser) object() (any, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	folded := map[string]string{}
	level := len(p.path)
	for p.dec.PeekKind() != '}' {
		token, err := p.dec.ReadToken()
		if err != nil {
			return nil, err // the path leads to the value before it still, which 01 and 0x1 belong to
		}
		name := token.String()
		p.path = append(p.path[:level], step{name: name})
		fold := foldName(name)
		if twin, ok := folded[fold]; ok {
			return nil, p.twins(twin)
		}
		folded[fold] = name
		if object[name], err = p.value(); err != nil {
			return nil, err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	p.path = p.path[:level]
	return object, nil
}

func (p *parser) list() (any, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	list := []any{}
	level := len(p.path)
	for p.dec.PeekKind() != ']' {
		p.path = append(p.path[:level], step{index: len(list), indexed: true})
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	p.path = p.path[:level]
	return list, nil
}

// twins refuses the name just read because of one before it. The plain one of the two is named.
func (p *parser) twins(before string) error {
	if last := &p.path[len(p.path)-1]; !plainName(last.name) {
		last.name = before
	}
	return p.refuse("case", "Was sent in two spellings; names are case-sensitive",
		"A name in the body was sent in two spellings; names are case-sensitive")
}

// refusal says what is wrong at the place where the parser stopped. The decoder's own words
// are left out: they repeat the text, which may hold a secret.
func (p *parser) refusal(err error) error {
	if e := apierr.As(err); e != nil {
		return e
	}
	if errors.Is(err, io.EOF) {
		return apierr.New(apierr.Invalid, "A JSON body is required")
	}
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return &apierr.Error{Kind: apierr.Invalid, Message: "The body is not valid JSON", Err: err}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		p.path[len(p.path)-1].name = syntactic.JSONPointer.LastToken() // in the place of its sibling
		return p.refuse("duplicate", "Was sent twice", "A name in the body was sent twice")
	}
	at := syntactic.ByteOffset
	return p.refuse("syntax", fmt.Sprintf("Is not valid JSON, or is followed by what is not, at byte %d", at),
		fmt.Sprintf("The body is not valid JSON, at byte %d", at))
}

// refuse names the field that the path leads to, if it can be named.
func (p *parser) refuse(constraint, named, unnamed string) error {
	if path := pathText(p.path); path != "" {
		return &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{
			Name: path, Constraint: constraint, Value: constraint, Message: named,
		}}}
	}
	return &apierr.Error{Kind: apierr.Invalid, Message: unnamed}
}

// pathText writes a place as messages name fields: a.b[2]. It stops before a name that is not plain, which is raw input.
func pathText(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.indexed:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		case !plainName(s.name):
			return b.String()
		case b.Len() > 0:
			b.WriteByte('.')
		}
		b.WriteString(s.name)
	}
	return b.String()
}

func plainName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// foldName maps names that encoding/json or another reader could take for each other to one text.
func foldName(name string) string {
	return strings.Map(func(r rune) rune {
		// The smallest of the runes that fold to each other: 's', 'S' and U+017F are one.
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
}
