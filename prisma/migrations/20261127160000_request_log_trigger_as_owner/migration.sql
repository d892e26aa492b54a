-- db:migrate of an earlier release, which runs when one goes back, revokes all rights on tables that it does not know. The
-- servers of both releases still write the log.
ALTER FUNCTION sum_key_requests() SECURITY DEFINER;
ALTER FUNCTION sum_key_requests() SET search_path = public, pg_temp;
