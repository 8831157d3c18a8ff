// Package merge brings one tenant of another installation, which speaks the same API, into one that is in use: by the operations of both, with
// the rules and checks of the one that gets it. Its objects have other numbers and UUIDs there.
//
//   - plan.go reads from the definition of the configuration service which kinds of objects there are, what refers to what, and which links
//     and parts objects have. So a resource that is added later is brought along.
//   - translate.go writes an object as a request says it, with the new numbers, UUIDs and names in the place of the old ones.
//   - mapfile.go keeps the file that has the old and the new names of everything that was brought: the checkpoint from which a run goes on.
//   - job.go does it, in three passes: objects; the links between them; what leads from one to another, in circles too.
//   - logins.go brings who logs in, groups and policies.
package merge
