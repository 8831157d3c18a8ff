package asterisk

import "github.com/ringfence/ringfence/asterisk/conf"

// Sensible reports whether a text is a name, a sound or a number, which some places take for what it is.
func Sensible(text string) bool {
	_, isZone := map[string]bool{"default": true, "eu-fr": true}[text]
	return isSound(text) || isZone || conf.IsExten(text) || groupForm.MatchString(text) || zoneForm.MatchString(text)
}
