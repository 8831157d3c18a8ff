package main

import (
	"fmt"
	"time"
)

// mostImportMemory is how many MB the process that imports 100,000 users may have at most.
const mostImportMemory = 300

// importRows measures an import of another platform's dump with the benchmark of moving/wazo, up to the first answer.
func (b *bench) importRows() ([]row, error) {
	found, err := runBenchmarks("./moving/wazo", "^BenchmarkImport$", "1x", 1)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, size := range []struct {
		what, name string
		budget     time.Duration
	}{
		{"import of a dump with 10,000 users, up to the first answer, SQLite", "Import/sqlite/10000", time.Minute},
		{"import of a dump with 100,000 users, up to the first answer, PostgreSQL", "Import/postgres/100000", 10 * time.Minute},
	} {
		memory, ok := found.of(size.name, "peak-MB")
		if !ok {
			rows = append(rows, row{size.what, dsnVariable + " is not set: run `make bench`", "", skipped})
			continue
		}
		took := found.took(size.name)
		rows = append(rows, row{
			size.what, fmt.Sprintf("%.0f s; at most %.0f MB of memory", took.Seconds(), memory), fmt.Sprintf("%.0f s, %d MB", size.budget.Seconds(), mostImportMemory),
			judge(took <= size.budget && memory <= mostImportMemory),
		})
	}
	return rows, nil
}
