-- What the metrics need besides. The sublabel of these series is an array of dimensions, as text; the label is a currency.

-- Open subscriptions count one from their start to their end, and their price as long as they pay it.
CREATE OR REPLACE FUNCTION daily_facts(r "subscriptions") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  WITH recurring AS (
    SELECT CASE WHEN r.interval = 'year' THEN r.amount ELSE r.amount * 12::bigint END AS twelfths,
      CASE WHEN r.status <> 'trialing' THEN nullif(coalesce(r.paying_since, r.created_at), 'infinity') END AS since,
      ARRAY[r.plan_id, r.interval::text, r.status::text]::text AS dimensions,
      extract(epoch FROM r.canceled_at - coalesce(r.first_created_at, r.created_at))::bigint AS lasted)
  SELECT 'subscriptions', utc_day(r.created_at), r.status::text, r.plan_id, 1::bigint, 0::bigint
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
$$;

-- The plan of a subscription never changes, and an order never changes its subscription.
CREATE FUNCTION plan_of(subscription uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce((SELECT plan_id FROM subscriptions WHERE id = subscription), '')
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "orders") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  SELECT 'orders', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'orders.paid', utc_day(r.paid_at), r.currency::text, '', 1, r.amount WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.sold', utc_day(r.paid_at), r.currency::text,
    ARRAY[r.kind::text, plan_of(r.subscription_id), r.status::text]::text, 1, r.amount WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.returned', utc_day(r.paid_at), r.currency::text,
    ARRAY[r.kind::text, plan_of(r.subscription_id), r.status::text]::text, 1, r.refunded_amount WHERE r.refunded_amount > 0
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "refunds") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  SELECT 'orders.refunded', utc_day(r.created_at), r.currency::text, '', 1::bigint, r.amount::bigint
  UNION ALL SELECT 'orders.refunds', utc_day(r.created_at), r.currency::text,
    ARRAY[o.kind::text, plan_of(o.subscription_id)]::text, 1, r.amount FROM orders o WHERE o.id = r.order_id
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
