-- CreateTable
CREATE TABLE "daily_sums" (
    "series" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "label" TEXT COLLATE "C" NOT NULL,
    "sublabel" TEXT COLLATE "C" NOT NULL,
    "n" BIGINT NOT NULL,
    "amount" BIGINT NOT NULL,

    CONSTRAINT "daily_sums_pkey" PRIMARY KEY ("series","day","label","sublabel")
);

-- CreateTable
CREATE TABLE "daily_changes" (
    "series" TEXT COLLATE "C" NOT NULL,
    "day" DATE NOT NULL,
    "label" TEXT COLLATE "C" NOT NULL,
    "sublabel" TEXT COLLATE "C" NOT NULL,
    "n" BIGINT NOT NULL,
    "amount" BIGINT NOT NULL
);

-- CreateTable
CREATE TABLE "active_days" (
    "user_id" UUID NOT NULL,
    "day" DATE NOT NULL,

    CONSTRAINT "active_days_pkey" PRIMARY KEY ("user_id","day")
);

-- CreateIndex
CREATE INDEX "runs_ended_at_idx" ON "runs"("ended_at");

-- What the Prisma schema cannot say.

-- Lines live for seconds: the space of those that are gone is wanted back at once. Days that are over do not change, and
-- the sums of today are rewritten in place.
ALTER TABLE "daily_changes" SET (
  autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_threshold = 2000000000);
ALTER TABLE "daily_sums" SET (fillfactor = 80);

CREATE FUNCTION utc_day(moment timestamptz) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (moment AT TIME ZONE 'UTC')::date
$$;

-- What each row counts for. A series that is named as a table counts its rows by the day of created_at; its labels are
-- the columns with few values that lists filter by. The others are what the statistics need.

CREATE FUNCTION daily_facts(r "users") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'users', utc_day(r.created_at), r.status::text, r.role, 1::bigint, 0::bigint
$$;

-- Recurring revenue is in twelfths of a cent a month, so that years stay exact.
CREATE FUNCTION daily_facts(r "subscriptions") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  WITH recurring AS (
    SELECT CASE WHEN r.status = 'trialing' THEN 0 WHEN r.interval = 'year' THEN r.amount ELSE r.amount * 12::bigint END AS twelfths)
  SELECT 'subscriptions', utc_day(r.created_at), r.status::text, r.plan_id, 1::bigint, 0::bigint
  UNION ALL SELECT 'subscriptions.begun', utc_day(r.created_at), r.currency::text, '', 1, twelfths FROM recurring
  UNION ALL SELECT 'subscriptions.ended', utc_day(r.canceled_at), r.currency::text, '', 1, twelfths FROM recurring
    WHERE r.canceled_at IS NOT NULL
$$;

CREATE FUNCTION daily_facts(r "orders") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'orders', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'orders.paid', utc_day(r.paid_at), r.currency::text, '', 1, r.amount WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.refunded', utc_day(r.refunded_at), r.currency::text, '', 1, r.refunded_amount
    WHERE r.refunded_at IS NOT NULL
$$;

CREATE FUNCTION daily_facts(r "credit_accounts") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'credit_accounts', utc_day(r.created_at), '', '', 1::bigint, 0::bigint
$$;

CREATE FUNCTION daily_facts(r "credit_entries") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'credit_entries', utc_day(r.created_at), r.kind::text, '', 1::bigint, greatest(r.amount, 0)
$$;

CREATE FUNCTION daily_facts(r "runs") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'runs.ended', utc_day(r.ended_at), '', '', 1::bigint, r.cost WHERE r.ended_at IS NOT NULL
$$;

CREATE FUNCTION daily_facts(r "audit_entries") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'audit_entries', utc_day(r.created_at), r.action, r.target_type, 1::bigint, 0::bigint
$$;

CREATE FUNCTION daily_facts(r "emails") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'emails', utc_day(r.created_at), r.status::text, r.template, 1::bigint, 0::bigint
$$;

CREATE FUNCTION daily_facts(r "feedback") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'feedback', utc_day(r.created_at), r.status::text, r.rating::text, 1::bigint, 0::bigint
$$;

CREATE FUNCTION daily_facts(r "waitlist_entries") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'waitlist_entries', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
$$;

-- Nobody waits for anybody: a change is a line of its own, and no row that others change too is touched.
CREATE FUNCTION count_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO daily_changes SELECT series, day, label, sublabel, -n, -amount FROM daily_facts(OLD);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO daily_changes SELECT * FROM daily_facts(NEW);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "users_counted" AFTER INSERT OR UPDATE OR DELETE ON "users"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "subscriptions_counted" AFTER INSERT OR UPDATE OR DELETE ON "subscriptions"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "orders_counted" AFTER INSERT OR UPDATE OR DELETE ON "orders"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "audit_entries_counted" AFTER INSERT OR UPDATE OR DELETE ON "audit_entries"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "emails_counted" AFTER INSERT OR UPDATE OR DELETE ON "emails"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "feedback_counted" AFTER INSERT OR UPDATE OR DELETE ON "feedback"
  FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE TRIGGER "waitlist_entries_counted" AFTER INSERT OR UPDATE OR DELETE ON "waitlist_entries"
  FOR EACH ROW EXECUTE FUNCTION count_row();

-- These are on the way of every metered call, and so is what follows for runs: each fires where there may be something to
-- count alone. A WHEN of the trigger would cost more than the IF of its function.
CREATE TRIGGER "credit_accounts_counted" AFTER INSERT OR UPDATE OF created_at OR DELETE ON "credit_accounts"
  FOR EACH ROW EXECUTE FUNCTION count_row();

CREATE TRIGGER "credit_entries_counted" AFTER INSERT ON "credit_entries"
  FOR EACH ROW EXECUTE FUNCTION count_row();

CREATE FUNCTION count_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.ended_at IS NOT NULL THEN
    INSERT INTO daily_changes SELECT series, day, label, sublabel, -n, -amount FROM daily_facts(OLD);
  END IF;
  IF NEW.ended_at IS NOT NULL THEN
    INSERT INTO daily_changes SELECT * FROM daily_facts(NEW);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "runs_counted" AFTER UPDATE OF cost, ended_at OR DELETE ON "runs"
  FOR EACH ROW EXECUTE FUNCTION count_run();

-- A snapshot taken earlier hides what others have written since: what is decided by looking at their rows would be wrong.
CREATE FUNCTION refuse_old_snapshot() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'This can only be done in a transaction that is READ COMMITTED' USING ERRCODE = 'feature_not_supported';
  END IF;
END $$;

-- Takes back all that its rows have counted for. The other tables are kept from it by their foreign keys and the ledger.
CREATE FUNCTION count_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_old_snapshot();
  INSERT INTO daily_changes
    SELECT series, day, label, sublabel, -sum(n), -sum(amount)
    FROM (SELECT * FROM daily_sums UNION ALL SELECT * FROM daily_changes) counted
    WHERE series = TG_TABLE_NAME GROUP BY series, day, label, sublabel;
  RETURN NULL;
END $$;

CREATE TRIGGER "audit_entries_truncated" AFTER TRUNCATE ON "audit_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION count_nothing();
CREATE TRIGGER "emails_truncated" AFTER TRUNCATE ON "emails"
  FOR EACH STATEMENT EXECUTE FUNCTION count_nothing();
CREATE TRIGGER "feedback_truncated" AFTER TRUNCATE ON "feedback"
  FOR EACH STATEMENT EXECUTE FUNCTION count_nothing();
CREATE TRIGGER "waitlist_entries_truncated" AFTER TRUNCATE ON "waitlist_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION count_nothing();

-- Accounts that had a run. The series "active" has one unit for each account and day with a run; its label is the same
-- account's active day before that, or nothing. The accounts active from day a to day b are then the units in it whose
-- label is earlier than a: each account's first day in the range. "active.day", ".week" and ".month" count the accounts
-- of a calendar period at its start.

-- Brings the day of an account in line with its runs. All that changes an account's days meets at its row, and writes it:
-- a transaction whose snapshot is older than another's change fails there instead of missing it.
CREATE FUNCTION reconcile_active_day(account uuid, on_day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  is_active boolean;
  before date;
  after date;
  change int;
BEGIN
  UPDATE credit_accounts SET seq = seq WHERE user_id = account;
  is_active := EXISTS (
    SELECT FROM runs WHERE user_id = account
      AND created_at >= on_day::timestamp AT TIME ZONE 'UTC' AND created_at < (on_day + 1)::timestamp AT TIME ZONE 'UTC');
  IF is_active = EXISTS (SELECT FROM active_days WHERE user_id = account AND day = on_day) THEN
    RETURN;
  END IF;
  IF is_active THEN
    INSERT INTO active_days VALUES (account, on_day);
  ELSE
    DELETE FROM active_days WHERE user_id = account AND day = on_day;
  END IF;
  before := (SELECT max(day) FROM active_days WHERE user_id = account AND day < on_day);
  after := (SELECT min(day) FROM active_days WHERE user_id = account AND day > on_day);
  change := CASE WHEN is_active THEN 1 ELSE -1 END;
  INSERT INTO daily_changes
    SELECT 'active', day, coalesce(to_char(previous, 'YYYY-MM-DD'), ''), '', n, 0
    FROM (VALUES (on_day, before, change), (after, before, -change), (after, on_day, change)) AS unit (day, previous, n)
    WHERE day IS NOT NULL
    UNION ALL
    SELECT 'active.' || span, starts::date, '', '', change, 0
    FROM (VALUES ('day'), ('week'), ('month')) AS calendar (span), date_trunc(span, on_day::timestamp) AS starts
    WHERE (before IS NULL OR before < starts) AND (after IS NULL OR after >= starts + ('1 ' || span)::interval);
END $$;

-- The foreign key's own trigger comes first by its name, and holds the account's row against those who take days away: it
-- waits for them, and fails in a snapshot that is older than what they did.
CREATE FUNCTION count_new_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.ended_at IS NOT NULL THEN
    INSERT INTO daily_changes SELECT * FROM daily_facts(NEW);
  END IF;
  IF NOT EXISTS (SELECT FROM active_days WHERE user_id = NEW.user_id AND day = utc_day(NEW.created_at)) THEN
    PERFORM reconcile_active_day(NEW.user_id, utc_day(NEW.created_at));
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION review_active_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_old_snapshot();
  -- Waits for everybody who has inserted a run and not yet committed.
  PERFORM FROM credit_accounts WHERE user_id = OLD.user_id FOR UPDATE;
  PERFORM reconcile_active_day(OLD.user_id, utc_day(OLD.created_at));
  IF TG_OP = 'UPDATE' THEN
    PERFORM reconcile_active_day(NEW.user_id, utc_day(NEW.created_at));
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "runs_counted_as_made" AFTER INSERT ON "runs"
  FOR EACH ROW EXECUTE FUNCTION count_new_run();
CREATE TRIGGER "runs_moved" AFTER UPDATE OF user_id, created_at OR DELETE ON "runs"
  FOR EACH ROW EXECUTE FUNCTION review_active_days();

-- How many accounts had a run from one moment to another, both included: the first active day in the range of each, less
-- those that were active in the parts of the first and the last day alone that lie outside. Days are read one by one,
-- for each has few of the units that count among many, and accounts looked up one by one: OFFSET keeps the planner from
-- reading all runs of the range instead.
CREATE FUNCTION active_accounts(since timestamptz, until timestamptz) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  first_day date := utc_day(since);
  last_day date := utc_day(until);
  first_label text := to_char(first_day, 'YYYY-MM-DD');
  oldest date := (SELECT min(day) FROM daily_sums WHERE series = 'active');
  newest date := (SELECT max(day) FROM daily_sums WHERE series = 'active');
BEGIN
  RETURN
    (SELECT coalesce(sum((
       SELECT sum(n) FROM daily_sums WHERE series = 'active' AND day = midnight::date AND label < first_label)), 0)
     FROM generate_series(greatest(first_day, oldest)::timestamp, least(last_day, newest)::timestamp, '1 day') AS midnight)
    + (SELECT coalesce(sum(n), 0) FROM daily_changes
       WHERE series = 'active' AND day BETWEEN first_day AND last_day AND label < first_label)
    - (SELECT count(*) FROM (
         SELECT user_id FROM runs WHERE created_at >= first_day::timestamp AT TIME ZONE 'UTC' AND created_at < since
         UNION
         SELECT user_id FROM runs WHERE created_at > until AND created_at < (last_day + 1)::timestamp AT TIME ZONE 'UTC'
       ) outside
       WHERE NOT EXISTS (
         SELECT FROM runs r WHERE r.user_id = outside.user_id AND r.created_at BETWEEN since AND until OFFSET 0));
END $$;

-- Counts everything anew: for a database that had rows before, and after a bulk load with these triggers disabled.
CREATE FUNCTION rebuild_daily_sums() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('daily_sums'));
  PERFORM refuse_old_snapshot();
  LOCK TABLE users, subscriptions, orders, credit_accounts, credit_entries, runs, audit_entries, emails, feedback,
    waitlist_entries IN SHARE MODE;
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
      UNION ALL SELECT f.* FROM waitlist_entries r, daily_facts(r) f) counted
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

SELECT rebuild_daily_sums();
