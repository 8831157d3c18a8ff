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

-- index_search gives a table's search_text an index of trigrams, with which a search reads only the rows that it finds.
-- They come with PostgreSQL's contrib package; without it, or without the right to use it, a search reads all rows of the
-- tenant.
-- +goose StatementBegin
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
-- +goose StatementEnd
