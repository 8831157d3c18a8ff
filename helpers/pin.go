package helpers

import (
	"errors"
	"fmt"
	"io/fs"
)

// pinFile is where Asterisk keeps a PIN that was changed by telephone, in the folder of its mailbox.
const pinFile = "secret.conf"

// ForgetPIN removes the PIN that a telephone has given a mailbox, so that the configured one counts when Asterisk reads it next. voicemail
// is the folder of all voicemails. It is no error if there is no such PIN, mailbox or folder.
func ForgetPIN(voicemail, context, number string) error {
	if !contextPattern.MatchString(context) || !numberPattern.MatchString(number) {
		return fmt.Errorf("%q in the context %q is not a mailbox", number, context)
	}
	at, err := openFolder(voicemail)
	for _, name := range []string{context, number} {
		if err != nil {
			break
		}
		var inner folder
		inner, err = at.enter(name)
		at.close()
		at = inner
	}
	if err == nil {
		err = at.root.Remove(pinFile)
		at.close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
