package store

import "fmt"

// maxPayload is PostgreSQL's limit on the payload of NOTIFY.
const maxPayload = 8000

// CheckPayload refuses a payload that is too long for Notify, for the engines.
func CheckPayload(payload string) error {
	if len(payload) >= maxPayload {
		return fmt.Errorf("a payload of %d bytes: under %d is the limit", len(payload), maxPayload)
	}
	return CheckText([]any{payload})
}
