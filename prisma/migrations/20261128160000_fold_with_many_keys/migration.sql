-- The planner expects one change after an ANALYZE of the empty table, and found full_keys again for each. A session keeps
-- the plan of its first fold, in which key_reach may have been so small that a scan was best.
-- Before PostgreSQL 18, a scan that is off, as of key_request_changes, seems so expensive that it would be compiled.
CREATE OR REPLACE FUNCTION fold_key_requests() RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
  folded bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM key_request_changes) THEN
    RETURN 0;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('key_request_sums'));
  WITH changes AS (
    DELETE FROM key_request_changes
    WHERE ctid = ANY (ARRAY (SELECT ctid FROM key_request_changes LIMIT 5000))
    RETURNING *),
  sums AS (
    INSERT INTO key_request_sums AS s (key_id, hour, route, status, user_id, n)
    SELECT key_id, hour, route, status, user_id, sum(requests) FROM changes GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4
    ON CONFLICT (key_id, hour, route, status) DO UPDATE SET n = s.n + excluded.n),
  -- In one order of the rows, so that those who write unlogged requests wait for each other and never in a circle.
  usage AS (
    INSERT INTO key_usage AS u (unit, key_id, user_id, created_at, requests, errors, rows, credits,
      under_10_ms, under_50_ms, under_250_ms, under_1000_ms)
    SELECT unit, key_id, user_id, date_trunc(unit::text, hour, 'UTC'), sum(requests),
      coalesce(sum(requests) FILTER (WHERE status >= 400), 0), sum(rows), sum(credits), sum(under_10_ms),
      sum(under_50_ms), sum(under_250_ms), sum(under_1000_ms)
    FROM changes, unnest(enum_range(NULL::usage_unit)) unit
    GROUP BY 1, 2, 3, 4 ORDER BY 2, 1, 4
    ON CONFLICT (key_id, unit, created_at) DO UPDATE SET
      requests = u.requests + excluded.requests, errors = u.errors + excluded.errors, rows = u.rows + excluded.rows,
      credits = u.credits + excluded.credits, under_10_ms = u.under_10_ms + excluded.under_10_ms,
      under_50_ms = u.under_50_ms + excluded.under_50_ms, under_250_ms = u.under_250_ms + excluded.under_250_ms,
      under_1000_ms = u.under_1000_ms + excluded.under_1000_ms),
  -- Anyone who has a key, even a revoked one, can use any number of addresses. Requests of a key with 10,000 rows from
  -- further addresses are added to `others`.
  grouped AS (
    SELECT key_id, route, address, sum(requests) AS requests,
      coalesce(sum(requests) FILTER (WHERE status >= 400), 0) AS refused, sum(rows) AS rows,
      min(first_at) AS first_at, max(last_at) AS last_at
    FROM changes GROUP BY 1, 2, 3),
  compared AS (
    SELECT *, NOT EXISTS (SELECT FROM key_reach k WHERE (k.key_id, k.route, k.address) = (g.key_id, g.route, g.address)) AS is_new
    FROM grouped g),
  full_keys AS MATERIALIZED (
    SELECT key_id FROM compared c WHERE is_new GROUP BY key_id
    HAVING EXISTS (SELECT FROM key_reach k WHERE k.key_id = c.key_id OFFSET 9999)),
  reach AS (
    INSERT INTO key_reach AS r (key_id, route, address, requests, refused, rows, first_at, last_at)
    SELECT key_id, route, CASE WHEN is_new AND f.key_id IS NOT NULL THEN 'others' ELSE address END,
      sum(requests), sum(refused), sum(rows), min(first_at), max(last_at)
    FROM compared LEFT JOIN full_keys f USING (key_id) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (key_id, route, address) DO UPDATE SET
      requests = r.requests + excluded.requests, refused = r.refused + excluded.refused, rows = r.rows + excluded.rows,
      first_at = least(r.first_at, excluded.first_at), last_at = greatest(r.last_at, excluded.last_at))
  SELECT count(*) INTO folded FROM changes;
  -- With more to fold, the next writer continues.
  IF folded < 5000 THEN
    PERFORM setval('key_requests_folded', extract(epoch FROM clock_timestamp())::bigint);
  END IF;
  RETURN folded;
END $$;
