// Package mail sends the mails of the authentication service, one to confirm an address, one to reset a password and one that tests the
// mail server.
//
// A send is one attempt, within a time limit. The caller queues and limits the rate. Nothing is sent unless the connection is
// encrypted and the server's certificate verified. Links begin with the configured base URL: a request's Host header never reaches
// this package. No error holds the SMTP password or a link's token.
//
// # Templates
//
// The texts are templates. A file of the same name in Config.Templates replaces one:
//
//	confirmation.txt, confirmation.html   the mail that confirms an address
//	reset.txt, reset.html                 the mail that resets a password
//
// The .txt files are text/template, the .html files html/template, which escapes what it inserts. Both parts of a mail arrive
// together, so if you replace one, replace the other. The .txt file may define a template "subject"; otherwise the default
// subject is used. Available in a mail are:
//
//	{{.Link}}       the link; a mail without it is refused when the service starts
//	{{.Valid}}      how long the link is valid, as "1 hour"
//	{{.Site}}       the base URL's host, as "pbx.example.com"
//	{{.Name}}       how to greet: first and last name; empty when unknown, or when it looks like a web address
//	{{.Account}}    the username; empty when there is none, or when it looks like a sentence or a path
//	{{.Address}} {{.Firstname}} {{.Lastname}} {{.Username}}   the recipient's, as stored; any but the address may be empty
//
// If users may register themselves, a stranger can enter another person's address and any name: that is why {{.Name}} and
// {{.Account}} are better than {{.Firstname}} and {{.Username}}.
package mail
