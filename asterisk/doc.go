// Package asterisk writes the configuration files of Asterisk from a snapshot of confd's data.
//
// Generate returns the files. Each is written by parts, which are in the table parts; what a number, a destination or a lamp leads to
// is in the tables numbers, destinations and lamps. A new kind of object joins by one file, which adds to those tables in its init
// function: see incalls.go.
//
// The same data gives the same bytes: everything is written in the order of keys that do not change. No text that somebody typed
// is written but through package conf, and a name that would lead into another tenant, or out of what was generated, is left out.
//
// The dialplan that all installations share is library/extensions.conf. What changes while calls run, such as forwards, is not in
// the files but in Asterisk's own database: see state.go.
package asterisk
