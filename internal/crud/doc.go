// Package crud is the engine under the collections of the services. One typed struct and one declaration give a collection its
// routes, required accesses, SQL, validation and definition.
//
// Its rooms are below it. Each imports only those before it: declaration, which lists the tags of the struct's fields, then query, rights and
// transaction. What is left here are the routes, and the changes of objects and of their links. These two know each other's collections: an
// object takes its links along when it is deleted, a link may delete an object, and a nested object is made by its own create. In a package
// of their own they would export to the routes every step that they have.
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
