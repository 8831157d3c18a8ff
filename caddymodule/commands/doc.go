// Package commands has the commands of the program beside Caddy's: what an operator does on the machine of a gateway, or from afar. A
// command reads its flags and shows what becomes of it; the work is done by packages that know no command line.
package commands
