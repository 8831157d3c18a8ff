package acl_test

import (
	"fmt"

	"github.com/ringfence/ringfence/acl"
)

func ExampleSet_Allows() {
	s, err := acl.Compile([]string{"confd.users.me.#", "confd.*.read", "!confd.users.me.voicemail.delete"})
	if err != nil {
		fmt.Println(err)
		return
	}
	user := acl.Binding{User: "1b4e28ba-2fa1-41d2-883f-0016d3cca427"}
	for _, access := range []string{
		"confd.users.1b4e28ba-2fa1-41d2-883f-0016d3cca427.lines.read",
		"confd.users.6fa459ea-ee8a-4ca4-894e-db77e160355e.lines.read",
		"confd.users.me.voicemail.delete",
		"confd.lines.read",
	} {
		fmt.Println(s.Allows(access, user), access)
	}
	// Output:
	// true confd.users.1b4e28ba-2fa1-41d2-883f-0016d3cca427.lines.read
	// false confd.users.6fa459ea-ee8a-4ca4-894e-db77e160355e.lines.read
	// false confd.users.me.voicemail.delete
	// true confd.lines.read
}

// The holder of a list may hand out a part of it, but nothing that the list
// denies.
func ExampleSet_Covers() {
	s, err := acl.Compile([]string{"confd.#", "!confd.users.delete"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pattern := range []string{"confd.*.read", "confd.users.*", "confd.#", "auth.#", "!confd.#"} {
		fmt.Println(s.Covers(pattern, acl.Binding{}), pattern)
	}
	// Output:
	// true confd.*.read
	// false confd.users.*
	// false confd.#
	// false auth.#
	// true !confd.#
}

func ExampleParsePattern() {
	fmt.Println(acl.ParsePattern("confd.users.*.read"))
	fmt.Println(acl.ParsePattern("confd.us*.read"))
	// Output:
	// <nil>
	// word 2 of the pattern mixes a wildcard with other characters
}
