// Package confdsvc is the configuration service: the objects of the telephony platform, as collections.
//
// One file is one resource: a struct, which is the object as clients read it, and its declaration for package crud. Attributes
// that existing clients expect and this service does not support yet are in every object, with the value that they have while
// nothing is configured, so objects already have all their attributes. A body that sets such an attribute is refused, never
// partly obeyed.
package confdsvc
