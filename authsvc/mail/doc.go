// Package mail sends the two mails of the authentication service, the one that confirms an address and the one that
// resets a password, and makes the page that a confirmed address is answered with.
//
// A send is one attempt, within a time limit, and its error says whether another attempt could succeed (ErrTemporary).
// Repeating, queueing and limiting the rate are for the caller. The connection is encrypted and the
// server's certificate verified, or nothing is sent. Links begin with the configured base URL: there is no
// way to hand a request's Host header to this package. No error holds the SMTP password or a link's token.
//
// # Templates
//
// The texts are templates, each of which a file of the same name in Config.Templates replaces:
//
//	confirmation.txt, confirmation.html   the mail that confirms an address
//	reset.txt, reset.html                 the mail that resets a password
//	confirmed.html                        the page that says that an address is confirmed
//
// The .txt files are text/template, the .html ones html/template, which escapes what it inserts. Both parts of a mail
// arrive together, so whoever replaces one replaces the other. The .txt file may define a template
// "subject"; if it does not, the subject remains ours. Available in a mail are:
//
//	{{.Link}}       the link; a mail without it is refused when the service starts
//	{{.Valid}}      how long the link is valid, as "1 hour"
//	{{.Site}}       the base URL's host, as "pbx.example.com"
//	{{.Name}}       how to greet: first and last name; empty when unknown, or when it looks like a web address
//	{{.Account}}    the username; empty when there is none, or when it looks like a sentence or a path
//	{{.Address}} {{.Firstname}} {{.Lastname}} {{.Username}}   the recipient's, as stored; any but the address may be empty
//
// and in the page {{.Address}} and {{.Site}}, both of which may be empty. A stranger can enter another's
// address and any name when users may register themselves: that is why {{.Name}} and {{.Account}} are better
// than {{.Firstname}} and {{.Username}}.
package mail
