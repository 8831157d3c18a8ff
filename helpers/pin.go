package helpers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/ringfence/ringfence/asterisk/conf"
)

// pinFile is where Asterisk keeps a PIN that was changed by telephone, in the folder of its mailbox.
const pinFile = "secret.conf"

// maxPINFile is more than Asterisk writes into that file.
const maxPINFile = 1 << 12

// ForgetPIN removes the PIN that a telephone has given a mailbox, so that the configured one counts when Asterisk reads it next. voicemail
// is the folder of all voicemails. It is no error if there is no such PIN, mailbox or folder.
func ForgetPIN(voicemail, context, number string) error {
	return inMailbox(voicemail, context, number, func(f folder) error { return f.root.Remove(pinFile) })
}

// ChosenPIN returns the PIN that a telephone has given a mailbox, or "" if there is no such PIN, mailbox or folder. An error never has
// the PIN in it.
func ChosenPIN(voicemail, context, number string) (pin string, err error) {
	err = inMailbox(voicemail, context, number, func(f folder) (err error) {
		pin, err = f.readPIN()
		return err
	})
	return pin, err
}

// inMailbox does something in the folder of a mailbox. What it does not find, the folder included, is no error.
func inMailbox(voicemail, context, number string, do func(f folder) error) error {
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
		err = do(at)
		at.close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f folder) readPIN() (string, error) {
	before, err := f.root.Lstat(pinFile)
	if err != nil {
		return "", err
	}
	file, err := f.root.OpenFile(pinFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if now, err := file.Stat(); err != nil || !before.Mode().IsRegular() || !os.SameFile(before, now) {
		return "", errors.New(pinFile + " is a link, or no file")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxPINFile))
	if err != nil {
		return "", err
	}
	parsed, err := conf.Parse(text)
	if err != nil {
		return "", errors.New(pinFile + " is not as Asterisk writes it")
	}
	if general := parsed.Section("general"); general != nil {
		pin, _ := general.Get("password")
		return pin, nil
	}
	return "", nil
}
