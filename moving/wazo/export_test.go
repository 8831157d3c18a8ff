package wazo

// What the tests outside see of the inside.
var (
	Array      = array
	ReadCopies = readCopies
)

// RowsOfTable takes rows.
type RowsOfTable = rowsOfTable

// MaxTable is how many bytes a table has at most.
const MaxTable = maxTable

// Folder returns where the job works.
func (j *Job) Folder() string { return j.folder }
