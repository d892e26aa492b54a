-- Text as it is searched: without accents, and in upper case, because lower case differs at the end of a Greek word. The
-- case mapping is that of Unicode whatever the locale of the database is: a database with the locale C knows only ASCII.
DO $$
BEGIN
  EXECUTE format($folded$
    CREATE FUNCTION folded(x text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
      RETURN upper(normalize(regexp_replace(normalize(x, NFKD), '[\u0300-\u036f]+', '', 'g'), NFC) COLLATE %s)
  $folded$, coalesce(
    to_regcollation('pg_catalog.pg_unicode_fast'), to_regcollation('pg_catalog."und-x-icu"'),
    to_regcollation('pg_catalog.pg_c_utf8'), 'pg_catalog."default"'));
END $$;

-- All pieces of three characters. They do not depend on the locale, as those of pg_trgm do, which has none of Chinese or
-- Cyrillic text in the locale C.
CREATE FUNCTION trigrams(x text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT substr(x, place, 3) FROM generate_series(1, length(x) - 2) AS place);
