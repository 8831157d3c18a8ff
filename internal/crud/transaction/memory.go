package transaction

import (
	"context"
	"fmt"

	"github.com/ringfence/ringfence/internal/crud/declaration"
	"github.com/ringfence/ringfence/internal/crud/query"
)

// Memory is what a transaction knows without asking the database. A new telephone user is a dozen rows that refer to one another:
// most questions about them would be whether a row that the transaction has just made has links already.
type Memory struct {
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

// Made notes a new object.
func (k *Memory) Made(table string, key any) {
	mark(&k.made, table, " ", key)
	delete(k.found, table)
}

// Changed notes that an object of a table changed.
func (k *Memory) Changed(table string) { delete(k.found, table) }

// Deleted notes that an object is gone, and with it what the database deletes or changes in other tables.
func (k *Memory) Deleted() { k.found = nil }

// Linked notes that a side of a joining table has a link.
func (k *Memory) Linked(s *query.Side, key any) {
	mark(&k.linked, s.Joining, ".", s.Refers, " ", key)
	mark(&k.linked, s.Table, " ", key)
	delete(k.found, s.Joining)
}

// New reports whether the transaction made an object, and no link of it yet.
func (k *Memory) New(of *declaration.Entity, o any) bool {
	name := fmt.Sprint(of.Table, " ", of.Key(o))
	return k.made[name] && !k.linked[name]
}

// Unlinked reports whether an object surely has no link in a side's joining table.
func (k *Memory) Unlinked(s *query.Side, key any) bool {
	return k.made[fmt.Sprint(s.Table, " ", key)] && !k.linked[fmt.Sprint(s.Joining, ".", s.Refers, " ", key)]
}

// MemoryOf returns the memory of the transaction of ctx.
func MemoryOf(ctx context.Context) *Memory { return &transactionOf(ctx).memory }

// Remember returns what load returned for the key before in the transaction of ctx, unless an object of the table, or a link in it, changed,
// or any object was deleted, since. What it returns is shared: nobody changes it.
func Remember[V any](ctx context.Context, table, key string, load func() (V, error)) (V, error) {
	tx := transactionOf(ctx)
	if tx == nil {
		return load()
	}
	if there, ok := tx.memory.found[table][key].(V); ok {
		return there, nil
	}
	value, err := load()
	if err == nil {
		tx.memory.keep(table, key, value)
	}
	return value, err
}

// RememberAs lets [Remember] return a value that the transaction of ctx has just written, as long as it would remember what it read.
func RememberAs(ctx context.Context, table, key string, value any) {
	MemoryOf(ctx).keep(table, key, value)
}

// keep notes a row of a table.
func (k *Memory) keep(table, key string, value any) {
	if k.found == nil {
		k.found = map[string]map[string]any{}
	}
	if k.found[table] == nil {
		k.found[table] = map[string]any{}
	}
	k.found[table][key] = value
}
