package sqlite

// Waited returns how often a query has had to wait for a reader.
func (db *DB) Waited() int64 { return db.reader.Stats().WaitCount }

// Readers returns how many readers there may be at once.
func (db *DB) Readers() int { return db.reader.Stats().MaxOpenConnections }
