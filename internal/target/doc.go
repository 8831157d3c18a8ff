// Package target reads a request's target once, strictly, from the client's own bytes.
//
// A target is refused rather than repaired: all code that routes, checks, logs or forwards a request uses the one [Target] that
// [Parse] made, so no two parts can read the same bytes differently. Only two changes are made: the path is percent-decoded once,
// and segments that are UUIDs are put into lower case.
//
// The characters of a segment are letters, digits and _ ~ @ + = , : . - and, in a segment that holds an ACL pattern, also * # and
// !; # only percent-encoded. Such segments are marked (see [Target.Wild]), and the router must refuse them unless an operation
// declares that it accepts a pattern there.
package target
