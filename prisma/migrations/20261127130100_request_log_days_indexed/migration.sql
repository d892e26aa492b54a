-- Adds the indexes of the last migration to the days that exist, one by one: only today's is written to, and the log's
-- writer waits for it less than a second, which no request does.
DO $$
DECLARE
  day text;
  index text;
  own text;
  columns text;
BEGIN
  FOR day IN SELECT relname FROM pg_class WHERE relnamespace = 'request_log'::regnamespace AND relkind = 'r' ORDER BY 1 LOOP
    FOR index, columns IN VALUES
      ('key_requests_errors_of_user', '(user_id, created_at DESC, id DESC) WHERE status >= 400'),
      ('key_requests_all_errors', '(created_at DESC, id DESC) WHERE status >= 400'),
      ('key_requests_request_id', '(request_id) WHERE request_id IS NOT NULL')
    LOOP
      own := day || replace(index, 'key_requests', '');
      -- The sweeper may have dropped the day.
      CONTINUE WHEN to_regclass('request_log.' || day) IS NULL;
      IF to_regclass('request_log.' || own) IS NULL THEN
        EXECUTE format('CREATE INDEX %I ON request_log.%I %s', own, day, columns);
      END IF;
      COMMIT;
      EXECUTE format('ALTER INDEX %I ATTACH PARTITION request_log.%I', index, own);
      COMMIT;
    END LOOP;
  END LOOP;
END $$;
