package crud

import (
	"context"
	"fmt"
)

// knowledge is what a transaction knows without asking the database. A new telephone user is a dozen rows that refer to one another:
// most questions about them would be whether a row that the transaction has just made has links already.
type knowledge struct {
	// made are the objects that the transaction made; linked are those, and sides of joining tables, of which it made links. Both stay
	// true after an [Attempt] has undone the object: no row with its key was there before, and one that had links is looked up again.
	made, linked map[string]bool
	// found are rows that it read, by their table, until one of that table changes, or any is deleted.
	found map[string]map[string]any
}

func mark(set *map[string]bool, of ...any) {
	if *set == nil {
		*set = map[string]bool{}
	}
	(*set)[fmt.Sprint(of...)] = true
}

// makes notes a new object.
func (k *knowledge) makes(table string, key any) {
	mark(&k.made, table, " ", key)
	delete(k.found, table)
}

// changes notes that an object of a table changed.
func (k *knowledge) changes(table string) { delete(k.found, table) }

// deletes notes that an object is gone, and with it what the database deletes or changes in other tables.
func (k *knowledge) deletes() { k.found = nil }

// links notes that a side of a joining table has a link.
func (k *knowledge) links(s *side, key any) {
	mark(&k.linked, s.joining, ".", s.column, " ", key)
	mark(&k.linked, s.collection.tableName(), " ", key)
	delete(k.found, s.joining)
}

// unlinked reports whether an object surely has no link in a side's joining table.
func (k *knowledge) unlinked(s *side, key any) bool {
	return k.made[fmt.Sprint(s.collection.tableName(), " ", key)] && !k.linked[fmt.Sprint(s.joining, ".", s.column, " ", key)]
}

// knows returns what the transaction of ctx knows.
func knows(ctx context.Context) *knowledge { return &transactionOf(ctx).knows }

// RightUnlinked reports whether the transaction made the right object, and no link of it yet.
func (p *PairOf[L, R]) RightUnlinked(ctx context.Context) bool {
	of := p.link.change.near.relation.right.collection
	known, name := knows(ctx), fmt.Sprint(of.tableName(), " ", of.keyOf(p.Right))
	return known.made[name] && !known.linked[name]
}

// Remember returns what load returned for the key before in the transaction of ctx, unless an object of the table, or a link in it, changed,
// or any object was deleted, since. What it returns is shared: nobody changes it.
func Remember[V any](ctx context.Context, table, key string, load func() (V, error)) (V, error) {
	tx := transactionOf(ctx)
	if tx == nil {
		return load()
	}
	if there, ok := tx.knows.found[table][key].(V); ok {
		return there, nil
	}
	value, err := load()
	if err == nil {
		tx.knows.finds(table, key, value)
	}
	return value, err
}

// Found lets [Remember] return a value that the transaction of ctx has just written, as long as it would remember what it read.
func Found(ctx context.Context, table, key string, value any) { knows(ctx).finds(table, key, value) }

// finds notes a row of a table.
func (k *knowledge) finds(table, key string, value any) {
	if k.found == nil {
		k.found = map[string]map[string]any{}
	}
	if k.found[table] == nil {
		k.found[table] = map[string]any{}
	}
	k.found[table][key] = value
}
