// Package rest declares an operation once. From a [Service], a list of [Operation] values, it derives the router, the table in
// which the gate finds the required access, the validation of bodies, and the OpenAPI definition. [Request.List] and similar
// methods read queries.
//
// The life of a request here: [Service.ServeHTTP] takes the [Match] that the gate left in the context (or makes it, if there is
// no gate), negotiates (406, 415), calls the operation's handler, and writes its [Reply], or its error in the service's own
// [ErrorForm].
package rest
