package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ringfence/ringfence/internal/apierr"
)

// MaxDepth is how deep JSON may nest.
const MaxDepth = 32

// ParseJSON reads one JSON value strictly (THREATS 9.1 to 9.5): duplicate names, names that differ
// only in case, invalid UTF-8, lone surrogates, a byte order mark, more than MaxDepth levels, and anything after the
// value are refused, with a sentence that says where. Numbers stay text (json.Number).
func ParseJSON(text []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	value, err := parseValue(dec)
	if err != nil {
		return nil, malformed(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed(errors.New("something follows the value"))
	}
	return value, nil
}

func malformed(err error) error {
	if e := apierr.As(err); e != nil {
		return e
	}
	e := apierr.New(apierr.Invalid, "The body is not valid JSON")
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		e.Message = "A JSON body is required"
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		e.Message = ""
		e.Fields = []apierr.Field{{Name: fieldPath(syntactic.JSONPointer), Constraint: "duplicate", Message: "Was sent twice"}}
	case errors.As(err, &syntactic):
		if path := fieldPath(syntactic.JSONPointer); path != "" {
			e.Message = ""
			e.Fields = []apierr.Field{{Name: path, Constraint: "syntax", Message: "The body is not valid JSON here"}}
		}
	}
	e.Err = err
	return e
}

// fieldPath writes a JSON pointer as messages name fields: a.b[2]. A name that is not plain is left out: it is raw input.
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if len(token) > 64 || strings.ContainsFunc(token, func(r rune) bool {
			return !(r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
		}) {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}

func parseValue(dec *jsontext.Decoder) (any, error) {
	if dec.StackDepth() > MaxDepth {
		return nil, apierr.New(apierr.Invalid, "The body nests deeper than %d levels", MaxDepth)
	}
	switch dec.PeekKind() {
	case '{':
		return parseObject(dec)
	case '[':
		return parseArray(dec)
	case '"':
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		return token.String(), nil
	case '0':
		raw, err := dec.ReadValue()
		return json.Number(raw.String()), err
	default:
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		if token.Kind() == 'n' {
			return nil, nil
		}
		return token.Bool(), nil
	}
}

func parseObject(dec *jsontext.Decoder) (any, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	folded := map[string]bool{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if f := foldName(key); folded[f] {
			return nil, &apierr.Error{Kind: apierr.Invalid, Fields: []apierr.Field{{
				Name: fieldPath(dec.StackPointer()), Constraint: "duplicate", Message: "Was sent in two spellings; names are case-sensitive",
			}}}
		} else {
			folded[f] = true
		}
		if object[key], err = parseValue(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return object, err
}

func parseArray(dec *jsontext.Decoder) (any, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	list := []any{}
	for dec.PeekKind() != ']' {
		value, err := parseValue(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := dec.ReadToken()
	return list, err
}
