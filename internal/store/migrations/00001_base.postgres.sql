-- +goose Up
-- fold drops case and accents, whatever the locale of the database. store.Fold does the same in Go.
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

-- stored_fold is fold, for a generated column. PostgreSQL reads a function in SQL anew for each statement that writes such a column, which takes
-- three times as long as to write the row.
CREATE FUNCTION stored_fold(x text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS 'BEGIN RETURN fold(x); END';

-- now_utc is the time at which the statement began, by the clock of the database.
CREATE FUNCTION now_utc() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT statement_timestamp()';

-- has_line tells whether a line is one of a text, none of which is empty. An index of string_to_array(text, E'\n') serves it.
CREATE FUNCTION has_line(lines text, line text) RETURNS boolean
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$SELECT string_to_array(lines, E'\n') @> ARRAY[line]$$;

-- index_search makes an index of trigrams on a table's search_text, so that a search reads only the rows that it finds. It needs
-- the extension pg_trgm. Without pg_trgm, or without the right to create it, a search reads all rows of the tenant.
CREATE FUNCTION index_search(of text) RETURNS void
	LANGUAGE plpgsql
AS $$
BEGIN
	IF EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
		CREATE EXTENSION IF NOT EXISTS pg_trgm;
		EXECUTE format('CREATE INDEX %I ON %I USING gin (search_text gin_trgm_ops)', of || '_search', of);
	END IF;
EXCEPTION WHEN insufficient_privilege OR undefined_object OR undefined_file THEN
	RAISE NOTICE 'pg_trgm cannot be used: searches will read all rows';
END
$$;
