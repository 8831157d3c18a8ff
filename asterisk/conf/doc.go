// Package conf writes and reads the configuration files of Asterisk.
//
// A Writer takes text as it is meant and writes it so that Asterisk reads the same text back. Each place of a file has its own
// rules, and one function that knows them:
//
//	section name     Writer.Section    letters, digits and -_.@: alone; anything else is refused
//	name of a value  Writer.Set        letters, digits and -_/.* and so on, see IsName; anything else is refused
//	value            Writer.Set        a semicolon is escaped; control characters are refused
//	caller ID        CallerID          quotes and backslashes of the name are escaped
//	dialplan         Argument          decoded by Asterisk at call time, into a variable: it is never read as dialplan
//	voicemail.conf   Field             the separators of a mailbox's line become blanks
//	comment          Writer.Comment    control characters become blanks
//
// Parse reads a file as Asterisk does, and reports what Asterisk would warn about as an error.
package conf
