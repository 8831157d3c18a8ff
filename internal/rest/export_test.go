package rest

// ForgetSchemas makes the schema of each type be made anew, as when the program starts.
func ForgetSchemas() {
	schemas.Clear()
	patterns.Clear()
}
