-- +goose Up
-- fold drops case and accents, whatever the database's locale is; it does what
-- store.Fold does, so that an index on fold(column) and Go code agree.
-- +goose StatementBegin
CREATE FUNCTION fold(x text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $fold$
SELECT CASE WHEN octet_length(x) = length(x) THEN lower(x COLLATE "C")
ELSE replace(replace(replace(replace(replace(
	translate(
		lower(regexp_replace(normalize(x, NFD) COLLATE "C", '[\u0300-\u036f]+', '', 'g')),
		'ÆÐØÞðøĐđĦħıĲĿŀŁłŊŒŦŧſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǄǅǇǈǊ'
		'ǋǤǱǲǶǷȜȠȢȤȻȽɁɃɄɅɆɈɊɌɎͰͲͶͿΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςϏϘϚϜϞϠϢϤϦϨ'
		'ϪϬϮϴϷϹϺϽϾϿЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲ'
		'ѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖ'
		'ԘԚԜԞԠԢԤԦԨԪԬԮẞ',
		'ædoþdoddhhiĳllllŋœttsɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǆǆǉǉǌ'
		'ǌǥǳǳƕƿȝƞȣȥȼƚɂƀʉʌɇɉɋɍɏͱͳͷϳαβγδεζηθικλμνξοπρστυφχψωσϗϙϛϝϟϡϣϥϧϩ'
		'ϫϭϯθϸϲϻͻͼͽђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳ'
		'ѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗ'
		'ԙԛԝԟԡԣԥԧԩԫԭԯß'),
	'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'ĳ', 'ij')
END
$fold$;
-- +goose StatementEnd

-- now_utc is the database's clock, the same all through one statement.
-- +goose StatementBegin
CREATE FUNCTION now_utc() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT statement_timestamp()';
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION now_utc();
DROP FUNCTION fold(text);
