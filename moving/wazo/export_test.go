package wazo

// What the tests outside see of the inside.
var (
	Array = array
)

// Folder returns where the job works.
func (j *Job) Folder() string { return j.folder }
