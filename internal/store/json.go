package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
)

// JSON is a value stored as JSON text in one column, for lists whose items are not foreign keys. Its own JSON form is the
// value's.
type JSON[T any] struct{ V T }

// Scan reads the column's text.
func (j *JSON[T]) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		var zero T
		j.V = zero
		return nil
	case string:
		return json.Unmarshal([]byte(s), &j.V)
	case []byte:
		return json.Unmarshal(s, &j.V)
	default:
		return fmt.Errorf("a JSON column cannot be read from %T", src)
	}
}

// Value returns the column's text.
func (j JSON[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(j.V)
	if err != nil {
		return nil, err
	}
	return string(text), nil
}

// MarshalJSON returns the value's own form.
func (j JSON[T]) MarshalJSON() ([]byte, error) { return json.Marshal(j.V) }

// UnmarshalJSON reads the value's own form.
func (j *JSON[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &j.V) }

// JSONType returns the type whose JSON form this one has.
func (JSON[T]) JSONType() reflect.Type { return reflect.TypeFor[T]() }
