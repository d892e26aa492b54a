-- What the Prisma schema cannot say. The code of an email's error, for the metrics, and for an index and the filter of
-- the list: the status of the mail server, an error of the network, `limit` or `other`; empty without an error.
CREATE FUNCTION email_error_code(error text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE WHEN error IS NULL THEN '' ELSE coalesce(
    substring(error FROM '(?:^|\s)([45]\d\d)(?:[\s-]|$)'),
    substring(error FROM '\m(E[A-Z]{3,15})\M'),
    CASE error WHEN 'limit' THEN error ELSE 'other' END) END;
