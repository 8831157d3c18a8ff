package store

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The letters that [Fold] maps although they do not decompose. The same two strings are in migrations/00001_base.postgres.sql; a
// test compares the two functions over every code point.
const (
	foldFrom = "ÆÐØÞðøĐđĦħıĲĿŀŁłŊŒŦŧſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǄǅǇǈǊ" +
		"ǋǤǱǲǶǷȜȠȢȤȻȽɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨ" +
		"ϪϬϮϴϷϹϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲ" +
		"ѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖ" +
		"ԘԚԜԞԠԢԤԦԨԪԬԮẞ"
	foldTo = "ædoþdoddhhiĳllllŋœttsɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǆǆǉǉǌ" +
		"ǌǥǳǳƕƿȝƞȣȥȼƚɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩ" +
		"ϫϭϯθϸϲϻͻͼͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳ" +
		"ѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗ" +
		"ԙԛԝԟԡԣԥԧԩԫԭԯß"
)

// The letters that Fold writes as two, after foldFrom.
var foldPairs = [...][2]string{{"ß", "ss"}, {"æ", "ae"}, {"œ", "oe"}, {"þ", "th"}, {"ĳ", "ij"}}

var folds = func() map[rune]string {
	m := make(map[rune]string)
	for from, to := []rune(foldFrom), []rune(foldTo); len(from) > 0; from, to = from[1:], to[1:] {
		m[from[0]] = string(to[0])
	}
	for _, pair := range foldPairs {
		r, _ := utf8.DecodeRuneInString(pair[0])
		m[r] = pair[1]
	}
	for from, to := range m { // Æ to æ to ae
		r, _ := utf8.DecodeRuneInString(to)
		if again, ok := m[r]; ok {
			m[from] = again
		}
	}
	return m
}()

// Fold drops case and accents from Latin, Greek and Cyrillic text: canonical decomposition, without the marks U+0300 to U+036F,
// in lower case, with ß, æ, œ, þ, ĳ as two letters and ø, ł, đ, ð, ħ, ŧ, ı as their base letters. It is the SQL function fold of
// both engines, for callers that fold in Go. It never produces a character that is special to LIKE (%, _ and the backslash), so
// an escaped pattern can be folded safely.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFD.String(s) {
		switch {
		case r >= 'A' && r <= 'Z':
			b.WriteRune(r + 'a' - 'A')
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r >= 0x300 && r <= 0x36f:
		default:
			if to, ok := folds[r]; ok {
				b.WriteString(to)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
