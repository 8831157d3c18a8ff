// Package query reads the objects of resources: the SQL of lists, pages, orders, filters and searches, of one object, and of the objects
// that others show.
package query
