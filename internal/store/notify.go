package store

import "fmt"

// maxPayload is PostgreSQL's limit on what NOTIFY carries.
const maxPayload = 8000

// CheckPayload refuses what Notify cannot carry, for the engines.
func CheckPayload(payload string) error {
	if len(payload) >= maxPayload {
		return fmt.Errorf("a payload of %d bytes: under %d is the limit", len(payload), maxPayload)
	}
	return CheckText([]any{payload})
}
