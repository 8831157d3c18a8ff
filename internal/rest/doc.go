// Package rest says what an operation is, once. From a [Service], a list of
// [Operation] values, come the router, the table in which the gate finds the
// required access, the validation of bodies, and the OpenAPI definition. Queries are read by [Request.List] and its like.
//
// The life of a request here: [Service.ServeHTTP] takes the [Match] that the gate
// left in the context (or makes it, when there is no gate in front), negotiates (406, 415), calls the
// operation's handler, and writes its [Reply], or its error in the service's own
// [ErrorForm].
package rest
