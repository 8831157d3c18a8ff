// Package rights is what a caller may see and do of objects. The gate has checked the access of the path; what else the request amounts to is
// asked here, by all names of an object.
//
// What a caller is denied to read by its own path is not read by another path either: an object is in no list and in no other object, SQL of
// the declarations reads other tables without it, and an attribute is as if nothing was set. A caller whose accesses deny nothing pays
// nothing for it.
package rights
