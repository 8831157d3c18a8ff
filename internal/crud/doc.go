// Package crud is the engine under the collections of the services: one typed struct and one
// declaration make a collection's routes, required accesses, SQL, validation and definition.
//
// A struct's fields carry the tags of rest.SchemaOf, and these:
//
//	db         the column; a field without it is filled by the Load hook, or read from the body by the others
//	generated  "true": the database gives it on insert
//	computed   "true": db names an expression of the resource's Virtual, which is read and never written
//	fixed      "true": set on create, and never changed; what a client sends later is ignored
//	of         "name": the column is made of that one, which a refusal names in its place
//	prefix     of a struct: its fields' columns begin with this
//	ref        "contexts.name": the value must exist there, in what the tenant sees
//	owner      "true", beside ref: the object belongs to the tenant of what it refers to
//	joining    "true", in a struct that shows a part of an object: the column is the joining table's
//	format     "uuid" makes the column one that only UUIDs are compared with
//
// A struct with a tenant_uuid column belongs to tenants: a list shows the tenant that the request acts in
// (and those below it with recurse), a path finds what that tenant and those below have, and everything else does
// not exist for the caller: the same 404, no count, no order, no unique-key error that names it.
//
// Where an object has several keys, the gate has checked the one that was typed; the engine refuses, with 403, a caller who is
// denied the same operation under another of them.
//
// Reads run on one snapshot and writes in one transaction, hooks included. Text is compared without case and accents by the
// function fold of both databases. A change can be made conditional by If-Match with the ETag of a read.
//
// What is not of this shape is a plain rest.Operation beside the engine's, never a case inside it.
package crud
