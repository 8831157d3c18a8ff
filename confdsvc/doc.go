// Package confdsvc is the configuration service: what the telephony platform is made of, as collections.
//
// One file is one resource: a struct, which is the object as clients read it, and its declaration for
// package crud. What existing clients expect and this service has not yet is in every object with the value that
// it will have while nothing is configured, so that an object's attributes are already all there; a body that
// sets such an attribute is refused, never half obeyed.
package confdsvc
