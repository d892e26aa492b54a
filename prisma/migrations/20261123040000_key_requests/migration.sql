-- CreateEnum
CREATE TYPE "usage_unit" AS ENUM ('hour', 'day');

-- CreateTable
CREATE TABLE "key_requests" (
    "id" UUID NOT NULL,
    "key_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "method" TEXT COLLATE "C" NOT NULL,
    "route" TEXT COLLATE "C" NOT NULL,
    "status" INTEGER NOT NULL,
    "code" TEXT,
    "ms" INTEGER NOT NULL,
    "rows" INTEGER NOT NULL,
    "credits" INTEGER NOT NULL,
    "address" INET,
    "user_agent" TEXT,
    "parameters" TEXT[] NOT NULL,

    CONSTRAINT "key_requests_pkey" PRIMARY KEY ("created_at","id")
) PARTITION BY RANGE ("created_at");

-- CreateTable
CREATE TABLE "key_request_sums" (
    "key_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "route" TEXT COLLATE "C" NOT NULL,
    "status" INTEGER NOT NULL,
    "user_id" UUID NOT NULL,
    "n" BIGINT NOT NULL,

    CONSTRAINT "key_request_sums_pkey" PRIMARY KEY ("key_id","hour","route","status")
);

-- CreateTable
CREATE TABLE "key_usage" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "unit" "usage_unit" NOT NULL,
    "key_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "requests" BIGINT NOT NULL DEFAULT 0,
    "errors" BIGINT NOT NULL DEFAULT 0,
    "rows" BIGINT NOT NULL DEFAULT 0,
    "credits" BIGINT NOT NULL DEFAULT 0,
    "under_10_ms" BIGINT NOT NULL DEFAULT 0,
    "under_50_ms" BIGINT NOT NULL DEFAULT 0,
    "under_250_ms" BIGINT NOT NULL DEFAULT 0,
    "under_1000_ms" BIGINT NOT NULL DEFAULT 0,
    "unlogged" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "key_usage_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "key_reach" (
    "key_id" UUID NOT NULL,
    "route" TEXT COLLATE "C" NOT NULL,
    "address" TEXT COLLATE "C" NOT NULL,
    "requests" BIGINT NOT NULL,
    "refused" BIGINT NOT NULL,
    "rows" BIGINT NOT NULL,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "key_reach_pkey" PRIMARY KEY ("key_id","route","address")
);

-- CreateIndex
CREATE INDEX "key_requests_key_id_created_at_id_idx" ON "key_requests"("key_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "key_requests_user_id_created_at_id_idx" ON "key_requests"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "key_requests_route_created_at_id_idx" ON "key_requests"("route", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "key_requests_errors" ON "key_requests"("status", "created_at" DESC, "id" DESC) WHERE (status >= 400);

-- CreateIndex
CREATE INDEX "key_requests_errors_of_key" ON "key_requests"("key_id", "created_at" DESC, "id" DESC) WHERE (status >= 400);

-- CreateIndex
CREATE INDEX "key_request_sums_user_id_hour_idx" ON "key_request_sums"("user_id", "hour");

-- CreateIndex
CREATE INDEX "key_request_sums_hour_idx" ON "key_request_sums"("hour");

-- CreateIndex
CREATE UNIQUE INDEX "key_usage_key_id_unit_created_at_key" ON "key_usage"("key_id", "unit", "created_at");

-- CreateIndex
CREATE INDEX "key_usage_unit_created_at_id_idx" ON "key_usage"("unit", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "key_usage_user_id_unit_created_at_id_idx" ON "key_usage"("user_id", "unit", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "key_reach_first_at_idx" ON "key_reach"("first_at");

-- What the Prisma schema cannot express.

ALTER TABLE "key_usage" SET (fillfactor = 80);
ALTER TABLE "key_request_sums" SET (fillfactor = 80);
ALTER TABLE "key_reach" SET (fillfactor = 80);

CREATE SCHEMA "request_log";

-- The functions below create and drop partitions for servers whose own role may not. Every role may execute a function,
-- so they refuse those that do not write the log: one that only reads would drop it.
CREATE FUNCTION refuse_other_roles() RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  caller text := coalesce(nullif(current_setting('role'), 'none'), session_user);
BEGIN
  IF NOT has_table_privilege(caller, 'key_requests', 'INSERT') THEN
    RAISE EXCEPTION 'permission denied for table key_requests' USING ERRCODE = 'insufficient_privilege';
  END IF;
END $$;

-- A partition is attached instead of created in place, because writers and readers continue meanwhile.
CREATE FUNCTION add_request_log_day(on_day date) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  partition text := to_char(on_day, '"day_"YYYYMMDD');
  starts timestamptz := on_day::timestamp AT TIME ZONE 'UTC';
  ends timestamptz := (on_day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
  PERFORM refuse_other_roles();
  PERFORM pg_advisory_xact_lock(hashtext('request_log'));
  IF to_regclass('request_log.' || partition) IS NOT NULL THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE TABLE request_log.%I (LIKE key_requests INCLUDING ALL, CHECK (created_at >= %L AND created_at < %L))', partition, starts, ends);
  EXECUTE format('ALTER TABLE key_requests ATTACH PARTITION request_log.%I FOR VALUES FROM (%L) TO (%L)', partition, starts, ends);
END $$;

-- Drops the oldest partition if its day is before `first_day`, and returns whether it did. This locks the table for an
-- instant; if a reader is in the way, the day stays until a later call.
CREATE FUNCTION drop_request_log_day(first_day date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  oldest text := (
    SELECT min(relname) FROM pg_class WHERE relnamespace = 'request_log'::regnamespace AND relkind = 'r');
BEGIN
  PERFORM refuse_other_roles();
  IF oldest IS NULL OR oldest >= to_char(first_day, '"day_"YYYYMMDD') OR NOT pg_try_advisory_xact_lock(hashtext('request_log')) THEN
    RETURN false;
  END IF;
  EXECUTE format('DROP TABLE IF EXISTS request_log.%I', oldest);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END $$;

CREATE FUNCTION daily_facts(r "key_usage") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'key_usage', utc_day(r.created_at), r.unit::text, '', 1::bigint, 0::bigint
$$;

CREATE TRIGGER "key_usage_counted" AFTER INSERT OR DELETE ON "key_usage"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "key_usage_truncated" AFTER TRUNCATE ON "key_usage"
  FOR EACH STATEMENT EXECUTE FUNCTION count_nothing();
CREATE TRIGGER "key_requests_truncated" AFTER TRUNCATE ON "key_requests"
  FOR EACH STATEMENT EXECUTE FUNCTION count_nothing();

-- Adds the entries of one statement to all sums, in one order of the rows, so that writers wait for each other and never
-- in a circle.
CREATE FUNCTION sum_key_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO daily_changes
    SELECT 'key_requests', utc_day(created_at), status::text, route, count(*), 0 FROM logged GROUP BY 2, 3, 4;
  INSERT INTO key_request_sums AS s (key_id, hour, route, status, user_id, n)
    SELECT key_id, date_trunc('hour', created_at, 'UTC'), route, status, user_id, count(*) FROM logged
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4
    ON CONFLICT (key_id, hour, route, status) DO UPDATE SET n = s.n + excluded.n;
  INSERT INTO key_usage AS u (unit, key_id, user_id, created_at, requests, errors, rows, credits,
      under_10_ms, under_50_ms, under_250_ms, under_1000_ms)
    SELECT unit, key_id, user_id, date_trunc(unit::text, created_at, 'UTC'), count(*), count(*) FILTER (WHERE status >= 400),
      sum(rows), sum(credits), count(*) FILTER (WHERE ms < 10), count(*) FILTER (WHERE ms >= 10 AND ms < 50),
      count(*) FILTER (WHERE ms >= 50 AND ms < 250), count(*) FILTER (WHERE ms >= 250 AND ms < 1000)
    FROM logged, unnest(enum_range(NULL::usage_unit)) unit
    GROUP BY 1, 2, 3, 4 ORDER BY 2, 1, 4
    ON CONFLICT (key_id, unit, created_at) DO UPDATE SET
      requests = u.requests + excluded.requests, errors = u.errors + excluded.errors, rows = u.rows + excluded.rows,
      credits = u.credits + excluded.credits, under_10_ms = u.under_10_ms + excluded.under_10_ms,
      under_50_ms = u.under_50_ms + excluded.under_50_ms, under_250_ms = u.under_250_ms + excluded.under_250_ms,
      under_1000_ms = u.under_1000_ms + excluded.under_1000_ms;
  -- Whoever has a key, even a revoked one, can come from any number of addresses. What a key with 10,000 rows does from
  -- further ones is summed as `others`.
  WITH grouped AS (
    SELECT key_id, route,
      CASE WHEN address IS NULL THEN 'unknown' WHEN family(address) = 6 THEN text(network(set_masklen(address, 64))) ELSE host(address) END AS address,
      count(*) AS requests, count(*) FILTER (WHERE status >= 400) AS refused, sum(rows) AS rows,
      min(created_at) AS first_at, max(created_at) AS last_at
    FROM logged GROUP BY 1, 2, 3),
  compared AS (
    SELECT *, NOT EXISTS (SELECT FROM key_reach k WHERE (k.key_id, k.route, k.address) = (g.key_id, g.route, g.address)) AS is_new
    FROM grouped g),
  full_keys AS (
    SELECT key_id FROM compared c WHERE is_new GROUP BY key_id
    HAVING EXISTS (SELECT FROM key_reach k WHERE k.key_id = c.key_id OFFSET 9999))
  INSERT INTO key_reach AS r (key_id, route, address, requests, refused, rows, first_at, last_at)
    SELECT key_id, route, CASE WHEN is_new AND f.key_id IS NOT NULL THEN 'others' ELSE address END,
      sum(requests), sum(refused), sum(rows), min(first_at), max(last_at)
    FROM compared LEFT JOIN full_keys f USING (key_id) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (key_id, route, address) DO UPDATE SET
      requests = r.requests + excluded.requests, refused = r.refused + excluded.refused, rows = r.rows + excluded.rows,
      first_at = least(r.first_at, excluded.first_at), last_at = greatest(r.last_at, excluded.last_at);
  RETURN NULL;
END $$;

CREATE TRIGGER "key_requests_summed" AFTER INSERT ON "key_requests" REFERENCING NEW TABLE AS logged
  FOR EACH STATEMENT EXECUTE FUNCTION sum_key_requests();

-- Counts everything anew: for a database that had rows before, and after a bulk load with these triggers disabled.
CREATE OR REPLACE FUNCTION rebuild_daily_sums() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('daily_sums'));
  PERFORM refuse_old_snapshot();
  LOCK TABLE users, subscriptions, orders, credit_accounts, credit_entries, runs, audit_entries, emails, feedback,
    waitlist_entries, key_requests, key_usage IN SHARE MODE;
  DELETE FROM daily_changes;
  DELETE FROM daily_sums;
  DELETE FROM active_days;
  INSERT INTO daily_sums
    SELECT series, day, label, sublabel, sum(n), sum(amount) FROM (
      SELECT f.* FROM users r, daily_facts(r) f
      UNION ALL SELECT f.* FROM subscriptions r, daily_facts(r) f
      UNION ALL SELECT f.* FROM orders r, daily_facts(r) f
      UNION ALL SELECT f.* FROM credit_accounts r, daily_facts(r) f
      UNION ALL SELECT f.* FROM credit_entries r, daily_facts(r) f
      UNION ALL SELECT f.* FROM runs r, daily_facts(r) f
      UNION ALL SELECT f.* FROM audit_entries r, daily_facts(r) f
      UNION ALL SELECT f.* FROM emails r, daily_facts(r) f
      UNION ALL SELECT f.* FROM feedback r, daily_facts(r) f
      UNION ALL SELECT f.* FROM waitlist_entries r, daily_facts(r) f
      UNION ALL SELECT f.* FROM key_usage r, daily_facts(r) f
      UNION ALL SELECT 'key_requests', utc_day(created_at), status::text, route, count(*), 0 FROM key_requests GROUP BY 1, 2, 3, 4
      ) counted
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
  INSERT INTO active_days SELECT DISTINCT user_id, utc_day(created_at) FROM runs ORDER BY 1, 2;
  INSERT INTO daily_sums
    SELECT 'active', day, previous, '', count(*), 0 FROM (
      SELECT day, coalesce(to_char(lag(day) OVER (PARTITION BY user_id ORDER BY day), 'YYYY-MM-DD'), '') AS previous
      FROM active_days) unit
    GROUP BY day, previous ORDER BY day, previous;
  INSERT INTO daily_sums
    SELECT 'active.' || span, starts::date, '', '', count(DISTINCT user_id), 0
    FROM (VALUES ('day'), ('week'), ('month')) AS calendar (span), active_days, date_trunc(span, day::timestamp) AS starts
    GROUP BY span, starts ORDER BY span, starts;
END $$;

