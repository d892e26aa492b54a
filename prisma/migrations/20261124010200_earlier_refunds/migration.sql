-- One refund for what was refunded of each order before refunds were rows, day by day, each day in a transaction of its
-- own that locks no order. It was counted with its order, so it is not counted again.
DO $$
DECLARE
  midnight timestamptz;
BEGIN
  FOR midnight IN
    SELECT generate_series(date_trunc('day', min(refunded_at)), max(refunded_at), '1 day') FROM orders WHERE refunded_at IS NOT NULL
  LOOP
    WITH earlier AS (
      INSERT INTO refunds (order_id, amount, currency, created_at)
        SELECT o.id, o.refunded_amount - recorded.amount, o.currency, o.refunded_at
        FROM orders o, LATERAL (SELECT coalesce(sum(amount), 0) AS amount FROM refunds WHERE order_id = o.id) recorded
        WHERE o.refunded_at >= midnight AND o.refunded_at < midnight + interval '1 day'
          AND o.refunded_amount > recorded.amount
        RETURNING refunds AS refund)
    INSERT INTO daily_changes SELECT series, day, label, sublabel, -n, -amount FROM earlier, daily_facts(refund);
    COMMIT;
  END LOOP;
END $$;
