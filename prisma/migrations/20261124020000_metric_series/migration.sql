-- CreateTable
CREATE TABLE "customers" (
    "user_id" UUID NOT NULL,
    "subscribed_at" TIMESTAMPTZ(3),
    "orders" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "customers_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "buying_days" (
    "user_id" UUID NOT NULL,
    "day" DATE NOT NULL,
    "orders" INTEGER NOT NULL,

    CONSTRAINT "buying_days_pkey" PRIMARY KEY ("user_id","day")
);

-- CreateIndex
CREATE INDEX "customers_subscribed_at_idx" ON "customers"("subscribed_at");

-- What the Prisma schema cannot say: the series of the metrics and of the filters of lists. Their label is a currency, or
-- in `subscriptions.listed` and `.canceled` a status; their sublabel is an array of dimensions, as text, or in the series of
-- accounts the month of their sign-up.

-- Sums by month of sign-up stay right because that month never changes.
CREATE FUNCTION keep_sign_up_time() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The time of a sign-up never changes';
END $$;

CREATE TRIGGER "users_sign_up_kept" BEFORE UPDATE OF created_at ON "users"
  FOR EACH ROW WHEN (NEW.created_at <> OLD.created_at) EXECUTE FUNCTION keep_sign_up_time();

-- The plan of a subscription never changes, and an order keeps its subscription, so this can be indexed. The body refers
-- to the table itself, whatever the search path is. The functions below read it in place: a call costs more than that.
CREATE FUNCTION plan_of(subscription uuid) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce((SELECT plan_id FROM subscriptions WHERE id = subscription), '');

-- Open subscriptions count one from their start to their end, and their price as long as they pay it.
CREATE OR REPLACE FUNCTION daily_facts(r "subscriptions") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  WITH recurring AS (
    SELECT CASE WHEN r.interval = 'year' THEN r.amount ELSE r.amount * 12::bigint END AS twelfths,
      CASE WHEN r.status <> 'trialing' THEN nullif(coalesce(r.paying_since, r.created_at), 'infinity') END AS since,
      ARRAY[r.plan_id, r.interval::text, r.status::text]::text AS dimensions,
      extract(epoch FROM r.canceled_at - coalesce(r.first_created_at, r.created_at))::bigint AS lasted,
      coalesce((SELECT to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') FROM users u WHERE u.id = r.user_id), '') AS cohort)
  SELECT 'subscriptions', utc_day(r.created_at), r.status::text, r.plan_id, 1::bigint, 0::bigint
  UNION ALL SELECT 'subscriptions.listed', utc_day(r.created_at), r.status::text,
    ARRAY[r.plan_id, r.cancel_at_period_end::text]::text, 1, 0
  UNION ALL SELECT 'subscriptions.canceled', utc_day(r.canceled_at), r.status::text,
    ARRAY[r.plan_id, r.cancel_at_period_end::text]::text, 1, 0 WHERE r.canceled_at IS NOT NULL
  UNION ALL SELECT 'subscriptions.begun', utc_day(r.created_at), r.currency::text, '', 1, 0 WHERE r.replaces_id IS NULL
  UNION ALL SELECT 'subscriptions.begun', utc_day(since), r.currency::text, '', 0, twelfths FROM recurring
    WHERE since IS NOT NULL
  UNION ALL SELECT 'subscriptions.ended', utc_day(r.canceled_at), r.currency::text, '', CASE WHEN r.replaced THEN 0 ELSE 1 END,
    CASE WHEN since IS NULL THEN 0 ELSE twelfths END FROM recurring WHERE r.canceled_at IS NOT NULL
  UNION ALL SELECT 'subscriptions.started', utc_day(r.created_at), r.currency::text, dimensions, 1, 0 FROM recurring
    WHERE r.replaces_id IS NULL
  UNION ALL SELECT 'subscriptions.lost', utc_day(r.canceled_at), r.currency::text, dimensions, 1, lasted FROM recurring
    WHERE r.canceled_at IS NOT NULL AND NOT r.replaced
  UNION ALL SELECT 'subscriptions.open', utc_day(r.created_at), r.currency::text, dimensions, 1, 0 FROM recurring
  UNION ALL SELECT 'subscriptions.open', utc_day(since), r.currency::text, dimensions, 0, twelfths FROM recurring
    WHERE since IS NOT NULL
  UNION ALL SELECT 'subscriptions.open', utc_day(r.canceled_at), r.currency::text, dimensions, -1,
    CASE WHEN since IS NULL THEN 0 ELSE -twelfths END FROM recurring WHERE r.canceled_at IS NOT NULL
  UNION ALL SELECT 'accounts.retained', utc_day(r.created_at), '', cohort, 1, 0 FROM recurring
  UNION ALL SELECT 'accounts.retained', utc_day(r.canceled_at), '', cohort, -1, 0 FROM recurring
    WHERE r.canceled_at IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "orders") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  WITH listed AS (
    SELECT ARRAY[r.kind::text, coalesce((SELECT s.plan_id FROM subscriptions s WHERE s.id = r.subscription_id), ''),
        r.status::text]::text AS dimensions,
      coalesce((SELECT to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') FROM users u WHERE u.id = r.user_id), '') AS cohort)
  SELECT 'orders', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'orders.listed', utc_day(r.created_at), r.currency::text, dimensions, 1, 0 FROM listed
  UNION ALL SELECT 'orders.paid', utc_day(r.paid_at), r.currency::text, '', 1, r.amount WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.sold', utc_day(r.paid_at), r.currency::text, dimensions, 1, r.amount FROM listed
    WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.returned', utc_day(r.paid_at), r.currency::text, dimensions, 1, r.refunded_amount FROM listed
    WHERE r.refunded_amount > 0
  UNION ALL SELECT 'orders.last_refunded', utc_day(r.refunded_at), r.currency::text, dimensions, 1, 0 FROM listed
    WHERE r.refunded_at IS NOT NULL
  UNION ALL SELECT 'accounts.revenue', utc_day(r.paid_at), r.currency::text, cohort, 1, r.amount - r.refunded_amount
    FROM listed WHERE r.paid_at IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "refunds") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  SELECT 'orders.refunded', utc_day(r.created_at), r.currency::text, '', 1::bigint, r.amount::bigint
  UNION ALL SELECT 'orders.refunds', utc_day(r.created_at), r.currency::text,
    ARRAY[o.kind::text, coalesce((SELECT s.plan_id FROM subscriptions s WHERE s.id = o.subscription_id), '')]::text, 1, r.amount
    FROM orders o WHERE o.id = r.order_id
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "credit_entries") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'credit_entries', utc_day(r.created_at), r.kind::text, '', 1::bigint, greatest(r.amount, 0)
  UNION ALL SELECT 'credit_entries.deducted', utc_day(r.created_at), '', '', 1, -r.amount
    WHERE r.kind = 'adjustment' AND r.amount < 0
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "waitlist_entries") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'waitlist_entries', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'waitlist_entries.by_source', utc_day(r.created_at), '', ARRAY[r.source, r.status::text]::text, 1, 0
$$;

CREATE FUNCTION daily_facts(r "api_keys") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'api_keys.issued', utc_day(r.created_at), r.surface::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'api_keys.revoked', utc_day(r.revoked_at), r.surface::text, coalesce(r.revocation_reason::text, ''), 1, 0
    WHERE r.revoked_at IS NOT NULL
$$;

CREATE TRIGGER "api_keys_counted" AFTER INSERT OR UPDATE OF revoked_at, revocation_reason OR DELETE ON "api_keys"
  FOR EACH ROW EXECUTE FUNCTION count_row();

-- Waits for transactions that count with the functions from before: what they write must not be missed below.
LOCK TABLE "credit_entries", "refunds", "waitlist_entries" IN SHARE MODE;

-- Counts series anew without a lock: one statement sees, in one snapshot, the rows and the lines that were written with
-- them. Lines that are committed later come on top.
CREATE FUNCTION recount_series(wanted text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('daily_sums'));
  PERFORM refuse_old_snapshot();
  EXECUTE format($recount$
    WITH changed AS (DELETE FROM daily_changes WHERE series = ANY ($1)),
    summed AS (DELETE FROM daily_sums WHERE series = ANY ($1))
    INSERT INTO daily_changes
      SELECT series, day, label, sublabel, sum(n), sum(amount) FROM (%s) facts WHERE series = ANY ($1) GROUP BY 1, 2, 3, 4
  $recount$, (
    SELECT string_agg(format('SELECT f.* FROM %s r, daily_facts(r) f', c.oid::regclass), ' UNION ALL ')
    FROM pg_proc p JOIN pg_class c ON c.reltype = p.proargtypes[0]
    WHERE p.proname = 'daily_facts' AND p.pronamespace = current_schema()::regnamespace)) USING wanted;
END $$;

-- The first subscription of each account. Whoever changes an account's row here waits for others who do, and fails in a
-- snapshot that is older than what they did.
CREATE FUNCTION daily_facts(r "customers") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  SELECT 'accounts.subscribed', utc_day(r.subscribed_at), '',
    coalesce((SELECT to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') FROM users u WHERE u.id = r.user_id), ''), 1::bigint, 0::bigint
    WHERE r.subscribed_at IS NOT NULL
$$;

CREATE TRIGGER "customers_counted" AFTER INSERT OR UPDATE OF subscribed_at OR DELETE ON "customers"
  FOR EACH ROW EXECUTE FUNCTION count_row();

CREATE FUNCTION find_first_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO customers AS c (user_id, subscribed_at) VALUES (NEW.user_id, NEW.created_at)
      ON CONFLICT (user_id) DO UPDATE SET subscribed_at = excluded.subscribed_at
      WHERE c.subscribed_at IS NULL OR c.subscribed_at > excluded.subscribed_at;
    RETURN NULL;
  END IF;
  PERFORM refuse_old_snapshot();
  -- Waits for everybody who has inserted a subscription and not yet committed.
  PERFORM FROM customers WHERE user_id = OLD.user_id FOR UPDATE;
  UPDATE customers SET subscribed_at = (SELECT min(created_at) FROM subscriptions WHERE user_id = OLD.user_id)
    WHERE user_id = OLD.user_id AND subscribed_at = OLD.created_at;
  RETURN NULL;
END $$;

CREATE TRIGGER "subscriptions_first" AFTER INSERT OR DELETE ON "subscriptions"
  FOR EACH ROW EXECUTE FUNCTION find_first_subscription();

-- The days on which an account paid orders, as `active_days` for runs: the series "orders.buyers" has one unit for each
-- account and day, whose label is the same account's day before that. All that changes an account's days meets at its row
-- in `customers`, and writes it.
CREATE FUNCTION count_buying_day(account uuid, on_day date, change int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  paid int;
  before date;
  after date;
BEGIN
  INSERT INTO customers AS c (user_id, orders) VALUES (account, change)
    ON CONFLICT (user_id) DO UPDATE SET orders = c.orders + excluded.orders;
  INSERT INTO buying_days AS b (user_id, day, orders) VALUES (account, on_day, change)
    ON CONFLICT (user_id, day) DO UPDATE SET orders = b.orders + excluded.orders RETURNING b.orders INTO paid;
  IF paid = 0 THEN
    DELETE FROM buying_days WHERE user_id = account AND day = on_day;
  END IF;
  IF paid <> greatest(change, 0) THEN
    RETURN;
  END IF;
  before := (SELECT max(day) FROM buying_days WHERE user_id = account AND day < on_day AND orders > 0);
  after := (SELECT min(day) FROM buying_days WHERE user_id = account AND day > on_day AND orders > 0);
  INSERT INTO daily_changes
    SELECT 'orders.buyers', day, coalesce(to_char(previous, 'YYYY-MM-DD'), ''), '', n, 0
    FROM (VALUES (on_day, before, change), (after, before, -change), (after, on_day, change)) AS unit (day, previous, n)
    WHERE day IS NOT NULL;
END $$;

CREATE FUNCTION count_buyer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.paid_at IS NOT NULL THEN
    PERFORM count_buying_day(OLD.user_id, utc_day(OLD.paid_at), -1);
  END IF;
  IF NEW.paid_at IS NOT NULL THEN
    PERFORM count_buying_day(NEW.user_id, utc_day(NEW.paid_at), 1);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "orders_bought" AFTER INSERT OR UPDATE OF user_id, paid_at OR DELETE ON "orders"
  FOR EACH ROW EXECUTE FUNCTION count_buyer();

-- Finds anew what `customers` and `buying_days` have of an account, while others write.
CREATE FUNCTION recount_customer(account uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refuse_old_snapshot();
  INSERT INTO customers (user_id) VALUES (account) ON CONFLICT (user_id) DO UPDATE SET orders = 0;
  INSERT INTO daily_changes
    SELECT 'orders.buyers', day, coalesce(to_char(lag(day) OVER (ORDER BY day), 'YYYY-MM-DD'), ''), '', -1, 0
    FROM buying_days WHERE user_id = account AND orders > 0;
  DELETE FROM buying_days WHERE user_id = account;
  INSERT INTO buying_days
    SELECT user_id, utc_day(paid_at), count(*) FROM orders WHERE user_id = account AND paid_at IS NOT NULL GROUP BY 1, 2;
  INSERT INTO daily_changes
    SELECT 'orders.buyers', day, coalesce(to_char(lag(day) OVER (ORDER BY day), 'YYYY-MM-DD'), ''), '', 1, 0
    FROM buying_days WHERE user_id = account;
  UPDATE customers SET
      orders = (SELECT coalesce(sum(orders), 0) FROM buying_days WHERE user_id = account),
      subscribed_at = (SELECT min(created_at) FROM subscriptions WHERE user_id = account)
    WHERE user_id = account;
END $$;

-- Counts everything anew: for a database that had rows before, and after a bulk load with these triggers disabled. The
-- counted tables are those with a daily_facts function, and key_requests.
CREATE OR REPLACE FUNCTION rebuild_daily_sums() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  counted regclass[] := (
    SELECT array_agg(c.oid::regclass) FROM pg_proc p JOIN pg_class c ON c.reltype = p.proargtypes[0]
    WHERE p.proname = 'daily_facts' AND p.pronamespace = current_schema()::regnamespace);
  facts text := (SELECT string_agg(format('SELECT f.* FROM %s r, daily_facts(r) f', t), ' UNION ALL ') FROM unnest(counted) t);
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('daily_sums'));
  PERFORM refuse_old_snapshot();
  -- Only triggers of the others write to customers.
  EXECUTE format('LOCK TABLE %s, key_requests IN SHARE MODE', array_to_string(array_remove(counted, 'customers'::regclass), ', '));
  DELETE FROM customers;
  DELETE FROM buying_days;
  DELETE FROM active_days;
  INSERT INTO buying_days
    SELECT user_id, utc_day(paid_at), count(*) FROM orders WHERE paid_at IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2;
  INSERT INTO customers (user_id, subscribed_at, orders)
    SELECT user_id, s.first_at, coalesce(b.orders, 0)
    FROM (SELECT user_id, min(created_at) AS first_at FROM subscriptions GROUP BY 1) s
    FULL JOIN (SELECT user_id, sum(orders) AS orders FROM buying_days GROUP BY 1) b USING (user_id);
  DELETE FROM daily_changes;
  DELETE FROM daily_sums;
  EXECUTE format($sums$
    INSERT INTO daily_sums
      SELECT series, day, label, sublabel, sum(n), sum(amount) FROM (
        %s UNION ALL
        SELECT 'key_requests', utc_day(created_at), status::text, route, count(*), 0 FROM key_requests GROUP BY 1, 2, 3, 4) facts
      GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0 ORDER BY 1, 2, 3, 4 $sums$, facts);
  INSERT INTO active_days SELECT DISTINCT user_id, utc_day(created_at) FROM runs ORDER BY 1, 2;
  INSERT INTO daily_sums
    SELECT series, day, coalesce(to_char(previous, 'YYYY-MM-DD'), ''), '', count(*), 0 FROM (
      SELECT 'active' AS series, day, lag(day) OVER (PARTITION BY user_id ORDER BY day) AS previous FROM active_days
      UNION ALL SELECT 'orders.buyers', day, lag(day) OVER (PARTITION BY user_id ORDER BY day) FROM buying_days) unit
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
  INSERT INTO daily_sums
    SELECT 'active.' || span, starts::date, '', '', count(DISTINCT user_id), 0
    FROM (VALUES ('day'), ('week'), ('month')) AS calendar (span), active_days, date_trunc(span, day::timestamp) AS starts
    GROUP BY span, starts ORDER BY span, starts;
END $$;
