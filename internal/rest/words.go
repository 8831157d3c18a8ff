package rest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// commonWords are the words of all services: see [Service.Words].
var commonWords = map[string]string{
	"/api/openapi.json": "definition, as JSON", "/api/api.yml": "definition, as YAML",
	"acl": "ACL", "dtmf": "DTMF", "email": "e-mail", "emails": "e-mails", "firstname": "first name", "fullname": "full name", "id": "ID", "lastname": "last name",
	"ldap": "LDAP", "pbx": "PBX", "pin": "PIN", "saml": "SAML", "sha256": "SHA-256", "sip": "SIP", "url": "URL", "username": "user name", "utc": "UTC",
	"uuid": "UUID", "zip": "ZIP",
}

// Reading returns how people read a name inside of a sentence: "ring strategy". Words are those of a service ([Service.Words]). The first of
// the keys that they have decides; otherwise the last key is read word by word.
func Reading(words map[string]string, keys ...string) string {
	for _, key := range keys {
		if text := cmp.Or(words[key], commonWords[key]); text != "" {
			return text
		}
	}
	parts := strings.FieldsFunc(keys[len(keys)-1], separates)
	for i, part := range parts {
		parts[i] = cmp.Or(words[part], commonWords[part], part)
	}
	return strings.Join(parts, " ")
}

// reading returns how people read a name, as it begins a sentence: "Ring strategy".
func (d *definer) reading(keys ...string) string { return sentence(Reading(d.Words, keys...)) }

// plain is the reading of a name that anybody finds without words: a client that knows none shows it so.
func plain(name string) string {
	return sentence(strings.Join(strings.FieldsFunc(name, separates), " "))
}

func separates(r rune) bool { return r == '_' || r == '-' || r == '/' }

func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// label returns the title of an attribute, or "" if its name is read as it is written. What is sent of an object is called as what is read.
func (d *definer) label(object, name string) string {
	if text := d.reading(kind(object)+"."+name, name); text != plain(name) {
		return text
	}
	return ""
}

// kind returns the name of an object whose schema is one of what is sent of it.
func kind(object string) string {
	for _, suffix := range []string{"Update", "Inside", "Create", "Created", "Nested"} {
		object = strings.TrimSuffix(object, suffix)
	}
	return object
}

// labels returns how the values of an attribute are read, those that are not read as they are written. Of an attribute that may have any
// text, or texts, they are those that the words have by "name=value" or "Object.name=value".
func (d *definer) labels(of, name string, values []string) object {
	out := object{}
	if values == nil {
		for key := range d.Words {
			for _, attribute := range []string{name, of + "." + name} {
				if value, ok := strings.CutPrefix(key, attribute+"="); ok {
					values = append(values, value)
				}
			}
		}
	}
	for _, value := range values {
		if text := d.reading(of+"."+name+"="+value, name+"="+value, value); text != "" && text != plain(value) {
			out[value] = text
		}
	}
	return out
}

// title returns what a path leads to: "Function key templates". Of what is below an object it says nothing of the object.
func (d *definer) title(path string) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for len(segments) > 0 && parameter(segments[len(segments)-1]) {
		segments = segments[:len(segments)-1]
	}
	for i, s := range segments {
		if parameter(s) {
			return d.title(strings.Join(segments[i+1:], "/"))
		}
	}
	name := strings.Join(segments, "/")
	slices.Reverse(segments)
	return d.reading("/"+name, strings.Join(segments, "/"))
}

func parameter(segment string) bool { return strings.HasPrefix(segment, "{") }

// columns adds to the named objects which of their attributes people look for first.
func (d *definer) columns() {
	for _, name := range slices.Sorted(maps.Keys(d.Columns)) {
		schema, _ := d.schemas[name].(object)
		properties, _ := schema["properties"].(object)
		for _, column := range d.Columns[name] {
			if properties[column] == nil {
				panic(fmt.Sprintf("%s has no attribute %s for a column", name, column))
			}
		}
		schema["x-columns"] = d.Columns[name]
	}
}
