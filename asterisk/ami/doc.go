// Package ami speaks the Asterisk Manager Interface, as far as applying a configuration needs it: login, actions with their
// responses, lists, events, and reloads with a verdict.
//
// A [Conn] is one connection, logged in. A [Client] keeps one, and connects again when it is lost.
//
// Nothing that the other side sends is trusted: lines, messages and lists are bounded, and what is neither a response nor an event
// ends the connection. Nothing that this side sends can become syntax: a header with a control character is refused, so no value
// can begin a header or an action of its own. The secret is in no error.
package ami
