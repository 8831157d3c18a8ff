// Package crud is the engine under the collections of the services. One typed struct and one declaration give a collection its
// routes, required accesses, SQL, validation and definition.
//
// A struct's fields carry the tags of rest.SchemaOf, and these:
//
//	db         the column; the Load hook fills a field without it, or other hooks read it from the body
//	generated  "true": the database sets it on insert
//	computed   "true": db names an expression of the resource's Virtual, which is read, never written
//	fixed      "true": set on create and never changed; a value sent later is ignored
//	of         "name": the column is derived from that one, which refusals name instead
//	prefix     on a struct: the columns of its fields begin with this
//	ref        "contexts.name": the value must exist there, and the tenant must see it
//	owner      "true", beside ref: the object belongs to the tenant of what it refers to
//	joining    "true", in a struct that shows a part of an object: the column is in the joining table
//	format     "uuid": the column is compared only with UUIDs
//
// A struct with a tenant_uuid column belongs to tenants. A list shows the objects of the tenant in which the request acts (and,
// with recurse, those of the tenants below it); a path finds the objects of that tenant and of those below it. For the caller
// nothing else exists: the same 404, no count, no order, no unique-key error that names it.
//
// If an object has several keys, the gate has checked the one in the path; the engine refuses, with 403, a caller who is denied
// the same operation under another key. An object that other paths reach too says so in its resource's Also.
//
// Reads run on one snapshot and writes in one transaction, hooks included. Text is compared without case and accents, by the
// function fold of both databases. A change can be made conditional with If-Match and the ETag of a read.
//
// Anything that does not fit this shape is a plain rest.Operation beside the engine's, never a special case inside it.
package crud
