// Package declaration is what a resource is: its names, table, columns, options and hooks, as a service declares them. Prepare checks them
// when the service starts.
//
// A struct's fields carry the tags of rest.SchemaOf, and these:
//
//	db         the column; the Load hook fills a field without it, or other hooks read it from the body
//	generated  "true": the database sets it on insert, as it does an [ID] that is readOnly
//	computed   "true": db names an expression of the resource's Virtual, which is read, never written
//	fixed      "true": set on create and never changed; a value sent later is ignored
//	of         "name": the column is derived from that one, which refusals name instead
//	prefix     on a struct: the columns of its fields begin with this
//	ref        "contexts.name": the value must exist there, and the tenant must see it
//	owner      "true", beside ref: the object belongs to the tenant of what it refers to
//	joining    "true", in a struct that shows a part of an object: the column is in the joining table
//	format     "uuid": the column is compared only with UUIDs; one that is called uuid, and that clients do not send, is new in a new object
package declaration
