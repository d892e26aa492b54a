-- AlterTable
ALTER TABLE "subscriptions" ADD COLUMN "paying_since" TIMESTAMPTZ(3), ADD COLUMN "replaced" BOOLEAN NOT NULL DEFAULT false, ADD COLUMN "replaces_id" UUID, ADD COLUMN "first_created_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "refunds" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "order_id" UUID NOT NULL,
    "amount" INTEGER NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refunds_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "refunds_order_id_idx" ON "refunds"("order_id");

-- CreateIndex
CREATE INDEX "refunds_created_at_idx" ON "refunds"("created_at");

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the Prisma schema cannot say: what happened stays what it was, so that the figures of a day that is over never
-- change.

-- A change of plan ends a subscription and inserts one that replaces it, at the same time.
CREATE FUNCTION keep_subscription_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status = 'trialing' THEN
      NEW.paying_since := 'infinity';
    END IF;
    IF NEW.replaces_id IS NOT NULL THEN
      NEW.first_created_at := (SELECT coalesce(first_created_at, created_at) FROM subscriptions WHERE id = NEW.replaces_id);
    END IF;
    RETURN NEW;
  END IF;
  IF (NEW.user_id, NEW.plan_id, NEW.amount, NEW.currency, NEW.interval, NEW.created_at, NEW.replaces_id)
     IS DISTINCT FROM (OLD.user_id, OLD.plan_id, OLD.amount, OLD.currency, OLD.interval, OLD.created_at, OLD.replaces_id) THEN
    RAISE EXCEPTION 'The terms of a subscription never change: end it, and insert one whose replaces_id is its id';
  END IF;
  IF OLD.status = 'canceled' AND (NEW.status, NEW.canceled_at) IS DISTINCT FROM (OLD.status, OLD.canceled_at) THEN
    RAISE EXCEPTION 'A subscription that has ended stays so: insert another one';
  END IF;
  -- A price counts as recurring revenue from the end of the trial on, and never if the subscription ends in its trial.
  IF OLD.status = 'trialing' AND NEW.status <> 'trialing' THEN
    NEW.paying_since := CASE NEW.status WHEN 'canceled' THEN 'infinity' ELSE now() END;
  ELSIF OLD.status <> 'trialing' AND NEW.status = 'trialing' THEN
    RAISE EXCEPTION 'A subscription begins with its trial';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER "subscriptions_terms_kept" BEFORE INSERT OR UPDATE ON "subscriptions"
  FOR EACH ROW EXECUTE FUNCTION keep_subscription_terms();

CREATE FUNCTION replace_subscription() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE subscriptions SET replaced = false WHERE id = OLD.replaces_id;
    RETURN NULL;
  END IF;
  UPDATE subscriptions SET replaced = true
    WHERE id = NEW.replaces_id AND user_id = NEW.user_id AND canceled_at = NEW.created_at AND NOT replaced;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'A subscription replaces one of the same account that ended when it started, and that no other replaces';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "subscriptions_replacing" AFTER INSERT ON "subscriptions"
  FOR EACH ROW WHEN (NEW.replaces_id IS NOT NULL) EXECUTE FUNCTION replace_subscription();
CREATE TRIGGER "subscriptions_replacing_no_more" AFTER DELETE ON "subscriptions"
  FOR EACH ROW WHEN (OLD.replaces_id IS NOT NULL) EXECUTE FUNCTION replace_subscription();

-- Deleting a subscription would set that of its orders to null.
CREATE FUNCTION keep_order_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The kind, currency and subscription of an order never change';
END $$;

CREATE TRIGGER "orders_terms_kept" BEFORE UPDATE OF kind, currency, subscription_id ON "orders"
  FOR EACH ROW WHEN ((NEW.kind, NEW.currency, NEW.subscription_id) IS DISTINCT FROM (OLD.kind, OLD.currency, OLD.subscription_id))
  EXECUTE FUNCTION keep_order_terms();

-- Whoever refunds adds to an order's refunded_amount; what was added is a refund, at the order's refunded_at. One that
-- failed afterwards is taken back by a negative one, today.
CREATE FUNCTION record_refund() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  refunded int := NEW.refunded_amount - CASE TG_OP WHEN 'UPDATE' THEN OLD.refunded_amount ELSE 0 END;
BEGIN
  IF refunded <> 0 THEN
    INSERT INTO refunds (order_id, amount, currency, created_at)
      VALUES (NEW.id, refunded, NEW.currency, CASE WHEN refunded > 0 THEN NEW.refunded_at ELSE now() END);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "orders_refunded" AFTER INSERT OR UPDATE OF refunded_amount ON "orders"
  FOR EACH ROW EXECUTE FUNCTION record_refund();

CREATE FUNCTION keep_refunds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'A refund never changes';
END $$;

CREATE TRIGGER "refunds_kept" BEFORE UPDATE ON "refunds" FOR EACH ROW EXECUTE FUNCTION keep_refunds();

-- Rows from before count for the same as they did: their columns have the defaults.
CREATE OR REPLACE FUNCTION daily_facts(r "subscriptions") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  WITH recurring AS (
    SELECT CASE WHEN r.interval = 'year' THEN r.amount ELSE r.amount * 12::bigint END AS twelfths,
      CASE WHEN r.status <> 'trialing' THEN nullif(coalesce(r.paying_since, r.created_at), 'infinity') END AS since)
  SELECT 'subscriptions', utc_day(r.created_at), r.status::text, r.plan_id, 1::bigint, 0::bigint
  UNION ALL SELECT 'subscriptions.begun', utc_day(r.created_at), r.currency::text, '', 1, 0 WHERE r.replaces_id IS NULL
  UNION ALL SELECT 'subscriptions.begun', utc_day(since), r.currency::text, '', 0, twelfths FROM recurring
    WHERE since IS NOT NULL
  UNION ALL SELECT 'subscriptions.ended', utc_day(r.canceled_at), r.currency::text, '', CASE WHEN r.replaced THEN 0 ELSE 1 END,
    CASE WHEN since IS NULL THEN 0 ELSE twelfths END FROM recurring WHERE r.canceled_at IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION daily_facts(r "orders") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'orders', utc_day(r.created_at), r.status::text, '', 1::bigint, 0::bigint
  UNION ALL SELECT 'orders.paid', utc_day(r.paid_at), r.currency::text, '', 1, r.amount WHERE r.paid_at IS NOT NULL
$$;

CREATE FUNCTION daily_facts(r "refunds") RETURNS SETOF "daily_changes" LANGUAGE sql IMMUTABLE AS $$
  SELECT 'orders.refunded', utc_day(r.created_at), r.currency::text, '', 1::bigint, r.amount::bigint
$$;

CREATE TRIGGER "refunds_counted" AFTER INSERT OR DELETE ON "refunds"
  FOR EACH ROW EXECUTE FUNCTION count_row();
