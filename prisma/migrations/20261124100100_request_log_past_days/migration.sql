-- As before, but never today's partition or a later one: whoever may call this cannot erase what has just been requested.
CREATE OR REPLACE FUNCTION drop_request_log_day(first_day date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  oldest text := (
    SELECT min(relname) FROM pg_class WHERE relnamespace = 'request_log'::regnamespace AND relkind = 'r');
BEGIN
  PERFORM refuse_other_roles();
  IF oldest IS NULL OR oldest >= to_char(least(first_day, utc_day(now())), '"day_"YYYYMMDD')
     OR NOT pg_try_advisory_xact_lock(hashtext('request_log')) THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TABLE IF EXISTS request_log.%I', oldest);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;

-- As before, but no day for which nothing is kept or that nobody can have requested yet: days without end would fill the
-- database. Requests that waited while it was unavailable may be days old.
CREATE OR REPLACE FUNCTION add_request_log_day(on_day date) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  partition text := to_char(on_day, '"day_"YYYYMMDD');
  starts timestamptz := on_day::timestamp AT TIME ZONE 'UTC';
  ends timestamptz := (on_day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
  PERFORM refuse_other_roles();
  IF on_day NOT BETWEEN utc_day(now()) - 400 AND utc_day(now()) + 2 THEN
    RAISE EXCEPTION '% is not a day of the request log', on_day USING ERRCODE = 'check_violation';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('request_log'));
  IF to_regclass('request_log.' || partition) IS NOT NULL THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE request_log.%I (LIKE key_requests INCLUDING ALL, CHECK (created_at >= %L AND created_at < %L))', partition, starts, ends);
  EXECUTE format('ALTER TABLE key_requests ATTACH PARTITION request_log.%I FOR VALUES FROM (%L) TO (%L)', partition, starts, ends);
END $$;
