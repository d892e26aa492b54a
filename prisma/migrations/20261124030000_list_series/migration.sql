-- The plan of a subscription never changes, and an order is inserted after its subscription, so this can be indexed. The
-- body refers to the table itself, whatever the search path is.
CREATE OR REPLACE FUNCTION plan_of(subscription uuid) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN coalesce((SELECT plan_id FROM subscriptions WHERE id = subscription), '');

-- Series with all fields by which orders and subscriptions are filtered. Their sublabel is an array of them, as text.
CREATE OR REPLACE FUNCTION daily_facts(r "subscriptions") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  WITH recurring AS (
    SELECT CASE WHEN r.interval = 'year' THEN r.amount ELSE r.amount * 12::bigint END AS twelfths,
      CASE WHEN r.status <> 'trialing' THEN nullif(coalesce(r.paying_since, r.created_at), 'infinity') END AS since,
      ARRAY[r.plan_id, r.interval::text, r.status::text]::text AS dimensions,
      extract(epoch FROM r.canceled_at - coalesce(r.first_created_at, r.created_at))::bigint AS lasted)
  SELECT 'subscriptions', utc_day(r.created_at), r.status::text, r.plan_id, 1::bigint, 0::bigint
  UNION ALL SELECT 'subscriptions.listed', utc_day(r.created_at), r.status::text,
    ARRAY[r.plan_id, r.cancel_at_period_end::text]::text, 1, 0
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

CREATE OR REPLACE FUNCTION daily_facts(r "orders") RETURNS SETOF "daily_changes" LANGUAGE sql STABLE AS $$
  SELECT 'orders', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'orders.listed', utc_day(r.created_at), r.currency::text,
    ARRAY[r.kind::text, plan_of(r.subscription_id), r.status::text]::text, 1, 0
  UNION ALL SELECT 'orders.paid', utc_day(r.paid_at), r.currency::text, '', 1, r.amount WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.sold', utc_day(r.paid_at), r.currency::text,
    ARRAY[r.kind::text, plan_of(r.subscription_id), r.status::text]::text, 1, r.amount WHERE r.paid_at IS NOT NULL
  UNION ALL SELECT 'orders.returned', utc_day(r.paid_at), r.currency::text,
    ARRAY[r.kind::text, plan_of(r.subscription_id), r.status::text]::text, 1, r.refunded_amount WHERE r.refunded_amount > 0
$$;
