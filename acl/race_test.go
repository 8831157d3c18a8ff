//go:build race

package acl_test

const raceDetector = true
