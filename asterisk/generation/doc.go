// Package generation keeps the generated configuration of an Asterisk as numbered generations in a folder, and makes one of them
// live at a time:
//
//	live -> generations/7     the only thing that is ever swapped; Asterisk's own files include live/pjsip.conf and so on
//	generations/7/            files and MANIFEST, which has their hashes; written once, never changed
//	generations/8/FAILED      why generation 8 was taken back, for whoever looks into it
//	applying                  the change under way, from one generation to another; missing when none is
//	lock                      held by whoever writes here
//
// A file with the content that is live already is the same file, by a hard link, so Asterisk, which compares size and time of
// modification, skips it. A file with other content never has the size and the time of its predecessor.
//
// # What is interrupted
//
// Every step can be the last one before the machine stops. The next Open finds
//
//   - a folder generations/N.tmp: Stage had not finished. It is removed.
//   - a generation that is not live: Stage had finished. It can be made live, or forgotten.
//   - applying, and live still at the old generation: nothing was told to Asterisk.
//   - applying, and live at the new generation: Asterisk may have read all, some or none of it, and nobody knows whether it
//     accepted what it read. In both cases live is set back to the old generation at once, and Recover reloads every module of the
//     change, then removes applying. The old generation is known to work; the change is made again, as a new generation.
//   - no applying: the last change was finished, or taken back completely. Removing that file is the one moment at which a change
//     becomes final.
package generation
