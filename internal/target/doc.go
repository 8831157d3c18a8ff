// Package target reads a request's target once, strictly, on the client's own
// bytes.
//
// A target is refused rather than repaired: whoever routes, checks, logs or
// forwards a request works with the one [Target] that [Parse] made, so no two of
// them can read the same bytes differently. Two things are done to the
// bytes: the path is percent-decoded once, and segments that are UUIDs are put into lower case.
//
// The characters of a segment are letters, digits and _ ~ @ + = , : . - and, in a
// segment that holds an ACL pattern, also * # and !; # only percent-encoded.
// Such segments are marked (see [Target.Wild]) and it is for the router to refuse
// them wherever no operation declares that it takes a pattern.
package target
