package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ringfence/ringfence/internal/apierr"
)

// MaxDepth is how deep JSON may nest.
const MaxDepth = 32

// ParseJSON reads one JSON value strictly: duplicate names, names that differ only in case, invalid UTF-8, lone surrogates, a
// byte order mark, more than MaxDepth levels, and anything after the value are refused, with an *apierr.Error that says where and
// repeats nothing of the text. Numbers stay text (json.Number). encoding/json reads everything that ParseJSON accepts in the same
// way.
func ParseJSON(text []byte) (any, error) {
	p := parser{jsontext.NewDecoder(bytes.NewBuffer(text))}
	value, err := p.value()
	if err != nil {
		return nil, p.refusal(err)
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &apierr.Error{Kind: apierr.Invalid, Message: "The body is not valid JSON: something follows the value", Err: errUnreadable}
	}
	return value, nil
}

// errUnreadable is the cause of a refusal of a body that is missing or is no JSON: MessageList has a sentence of its own for it.
var errUnreadable = errors.New("unreadable body")

// parser reads values. Its decoder knows where it is, for the refusal.
type parser struct{ dec *jsontext.Decoder }

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

// open reads the token that begins an object or a list.
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
	for p.dec.PeekKind() != '}' {
		token, err := p.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		fold := foldName(name)
		if twin, ok := folded[fold]; ok {
			return nil, p.twins(name, twin)
		}
		folded[fold] = name
		if object[name], err = p.value(); err != nil {
			return nil, err
		}
	}
	_, err := p.dec.ReadToken()
	return object, err
}

func (p *parser) list() (any, error) {
	if err := p.open(); err != nil {
		return nil, err
	}
	list := []any{}
	for p.dec.PeekKind() != ']' {
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := p.dec.ReadToken()
	return list, err
}

// twins refuses the name just read because of an earlier one. It names whichever of the two is plain.
func (p *parser) twins(name, before string) error {
	at := p.dec.StackPointer()
	if !plainName(name) {
		at = at.Parent().AppendToken(before)
	}
	return p.refuse(at, "case", "Was sent in two spellings; names are case-sensitive",
		"A name in the body was sent in two spellings; names are case-sensitive")
}

// refusal says what is wrong where the parser stopped. It omits the decoder's own message, which repeats the text and may hold a
// secret.
func (p *parser) refusal(err error) error {
	if e := apierr.As(err); e != nil {
		return e
	}
	if errors.Is(err, io.EOF) {
		return &apierr.Error{Kind: apierr.Invalid, Message: "A JSON body is required", Err: errUnreadable}
	}
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return &apierr.Error{Kind: apierr.Invalid, Message: "The body is not valid JSON", Err: errors.Join(errUnreadable, err)}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return p.refuse(syntactic.JSONPointer, "duplicate", "Was sent twice", "A name in the body was sent twice")
	}
	at := syntactic.ByteOffset
	e := p.refuse(p.next(), "syntax", fmt.Sprintf("Is not valid JSON, or is followed by what is not, at byte %d", at),
		fmt.Sprintf("The body is not valid JSON, at byte %d", at))
	e.Err = errUnreadable
	return e
}

// refuse names the field that is at a place, if it can be named.
func (p *parser) refuse(at jsontext.Pointer, constraint, named, unnamed string) *apierr.Error {
	if path := p.path(at); path != "" {
		return &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{
			Name: path, Constraint: constraint, Value: constraint, Message: named,
		}}}
	}
	return &apierr.Error{Kind: apierr.Invalid, Message: unnamed}
}

// next returns the place of the next value or, in an object, of the current one, which 01 and 0x1 belong to. The pointer of the
// decoder's own error leads to the whole list, or to nothing.
func (p *parser) next() jsontext.Pointer {
	at, depth := p.dec.StackPointer(), p.dec.StackDepth()
	if depth == 0 || !p.isList(depth) {
		return at
	}
	_, items := p.dec.StackIndex(depth)
	if items > 0 {
		at = at.Parent()
	}
	return at.AppendToken(strconv.FormatInt(items, 10))
}

// path formats a place on the way to the decoder's position as messages name fields: a.b[2]. It stops before a name that is not
// plain, which is raw input.
func (p *parser) path(at jsontext.Pointer) string {
	path, depth := "", 0
	for token := range at.Tokens() {
		depth++
		if depth <= p.dec.StackDepth() && p.isList(depth) {
			path += "[" + token + "]"
		} else if plainName(token) {
			path = join(path, token)
		} else {
			break
		}
	}
	return path
}

func (p *parser) isList(depth int) bool {
	kind, _ := p.dec.StackIndex(depth)
	return kind == '['
}

func plainName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// foldName maps names that encoding/json or another reader could confuse to one text.
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

// WithAttributes returns a JSON object with these attributes too, behind its own, in place of those of the same names.
func WithAttributes(object []byte, attributes map[string]any) ([]byte, error) {
	dec, out := jsontext.NewDecoder(bytes.NewBuffer(object)), []byte{'{'}
	add := func(name string, value []byte, err error) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), value...)
		return err
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if _, replaced := attributes[name]; !replaced {
			err = add(name, value, err)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value, err := Marshal(attributes[name])
		if err := add(name, value, err); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}
