-- CreateEnum
CREATE TYPE "user_status" AS ENUM ('active', 'banned', 'closed');

-- CreateEnum
CREATE TYPE "surface" AS ENUM ('admin', 'user');

-- CreateEnum
CREATE TYPE "plan_interval" AS ENUM ('month', 'year');

-- CreateEnum
CREATE TYPE "subscription_status" AS ENUM ('trialing', 'active', 'past_due', 'canceled');

-- CreateEnum
CREATE TYPE "order_kind" AS ENUM ('subscription', 'credits');

-- CreateEnum
CREATE TYPE "order_status" AS ENUM ('pending', 'paid', 'partially_refunded', 'refunded', 'failed');

-- CreateEnum
CREATE TYPE "credit_entry_kind" AS ENUM ('grant', 'purchase', 'reserve', 'settle', 'release', 'adjustment');

-- CreateEnum
CREATE TYPE "run_state" AS ENUM ('reserved', 'settled', 'failed', 'expired');

-- CreateEnum
CREATE TYPE "email_status" AS ENUM ('sent', 'failed', 'not_sent');

-- CreateEnum
CREATE TYPE "feedback_status" AS ENUM ('new', 'reviewed', 'resolved');

-- CreateEnum
CREATE TYPE "waitlist_status" AS ENUM ('waiting', 'invited', 'joined');

-- CreateTable
CREATE TABLE "users" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL DEFAULT 'member',
    "status" "user_status" NOT NULL DEFAULT 'active',
    "password_hash" TEXT,
    "session_version" INTEGER NOT NULL DEFAULT 0,
    "email_verified" TIMESTAMPTZ(3),
    "image" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "accounts" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "provider_account_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "verification_tokens" (
    "identifier" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "expires" TIMESTAMPTZ(3) NOT NULL
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "surface" "surface" NOT NULL,
    "name" TEXT NOT NULL,
    "start" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "request_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "revoked_by_id" UUID,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "plans" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "amount" INTEGER NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "interval" "plan_interval" NOT NULL,
    "credits" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "retired_at" TIMESTAMPTZ(3),

    CONSTRAINT "plans_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "subscriptions" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "plan_id" TEXT NOT NULL,
    "status" "subscription_status" NOT NULL,
    "amount" INTEGER NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "interval" "plan_interval" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "current_period_start" TIMESTAMPTZ(3) NOT NULL,
    "current_period_end" TIMESTAMPTZ(3) NOT NULL,
    "cancel_at_period_end" BOOLEAN NOT NULL DEFAULT false,
    "canceled_at" TIMESTAMPTZ(3),

    CONSTRAINT "subscriptions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "orders" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "subscription_id" UUID,
    "kind" "order_kind" NOT NULL,
    "description" TEXT NOT NULL,
    "status" "order_status" NOT NULL,
    "amount" INTEGER NOT NULL,
    "refunded_amount" INTEGER NOT NULL DEFAULT 0,
    "currency" CHAR(3) NOT NULL,
    "credits" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "paid_at" TIMESTAMPTZ(3),
    "refunded_at" TIMESTAMPTZ(3),

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "credit_accounts" (
    "user_id" UUID NOT NULL,
    "balance" BIGINT NOT NULL DEFAULT 0,
    "seq" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "credit_accounts_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "credit_entries" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "seq" BIGINT NOT NULL,
    "kind" "credit_entry_kind" NOT NULL,
    "amount" BIGINT NOT NULL,
    "balance_after" BIGINT NOT NULL,
    "run_id" UUID,
    "order_id" UUID,
    "actor_id" UUID,
    "reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "credit_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "runs" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "key_id" UUID,
    "idempotency_key" TEXT,
    "released_key" TEXT,
    "fingerprint" BYTEA NOT NULL,
    "state" "run_state" NOT NULL DEFAULT 'reserved',
    "reserved" BIGINT NOT NULL,
    "cost" BIGINT,
    "response_status" INTEGER,
    "response_body" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "runs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "id" UUID NOT NULL,
    "actor_id" UUID,
    "action" TEXT NOT NULL,
    "target_type" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "details" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "emails" (
    "id" UUID NOT NULL,
    "user_id" UUID,
    "to" TEXT NOT NULL,
    "template" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "status" "email_status" NOT NULL,
    "error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sent_at" TIMESTAMPTZ(3),

    CONSTRAINT "emails_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "feedback" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "rating" INTEGER NOT NULL,
    "message" TEXT NOT NULL,
    "status" "feedback_status" NOT NULL DEFAULT 'new',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "feedback_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "waitlist_entries" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "note" TEXT,
    "source" TEXT NOT NULL,
    "status" "waitlist_status" NOT NULL DEFAULT 'waiting',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "invited_at" TIMESTAMPTZ(3),

    CONSTRAINT "waitlist_entries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "users_created_at_id_idx" ON "users"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "users_status_created_at_id_idx" ON "users"("status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "users_role_created_at_id_idx" ON "users"("role", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "accounts_user_id_idx" ON "accounts"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "accounts_provider_provider_account_id_key" ON "accounts"("provider", "provider_account_id");

-- CreateIndex
CREATE UNIQUE INDEX "verification_tokens_token_key" ON "verification_tokens"("token");

-- CreateIndex
CREATE UNIQUE INDEX "verification_tokens_identifier_token_key" ON "verification_tokens"("identifier", "token");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- CreateIndex
CREATE INDEX "api_keys_user_id_surface_created_at_id_idx" ON "api_keys"("user_id", "surface", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "api_keys_surface_created_at_id_idx" ON "api_keys"("surface", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_user_id_request_id_key" ON "api_keys"("user_id", "request_id");

-- CreateIndex
CREATE INDEX "subscriptions_created_at_id_idx" ON "subscriptions"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "subscriptions_user_id_created_at_id_idx" ON "subscriptions"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "subscriptions_status_created_at_id_idx" ON "subscriptions"("status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "subscriptions_plan_id_created_at_id_idx" ON "subscriptions"("plan_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "subscriptions_canceled_at_idx" ON "subscriptions"("canceled_at");

-- CreateIndex
CREATE UNIQUE INDEX "subscriptions_one_current" ON "subscriptions"("user_id") WHERE (status <> 'canceled');

-- CreateIndex
CREATE INDEX "orders_created_at_id_idx" ON "orders"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "orders_user_id_created_at_id_idx" ON "orders"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "orders_status_created_at_id_idx" ON "orders"("status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "orders_subscription_id_idx" ON "orders"("subscription_id");

-- CreateIndex
CREATE INDEX "orders_paid_at_idx" ON "orders"("paid_at");

-- CreateIndex
CREATE INDEX "orders_refunded_at_idx" ON "orders"("refunded_at");

-- CreateIndex
CREATE INDEX "credit_accounts_created_at_user_id_idx" ON "credit_accounts"("created_at" DESC, "user_id" DESC);

-- CreateIndex
CREATE INDEX "credit_entries_created_at_id_idx" ON "credit_entries"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "credit_entries_user_id_created_at_id_idx" ON "credit_entries"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "credit_entries_kind_created_at_id_idx" ON "credit_entries"("kind", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "credit_entries_user_id_kind_created_at_id_idx" ON "credit_entries"("user_id", "kind", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "credit_entries_user_id_seq_key" ON "credit_entries"("user_id", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "credit_entries_one_reserve" ON "credit_entries"("run_id") WHERE (kind = 'reserve');

-- CreateIndex
CREATE UNIQUE INDEX "credit_entries_one_close" ON "credit_entries"("run_id") WHERE (kind = 'settle' OR kind = 'release');

-- CreateIndex
CREATE UNIQUE INDEX "credit_entries_one_purchase" ON "credit_entries"("order_id") WHERE (kind = 'purchase');

-- CreateIndex
CREATE INDEX "runs_open" ON "runs"("expires_at") WHERE (state = 'reserved');

-- CreateIndex
CREATE INDEX "runs_held" ON "runs"("user_id") WHERE (state = 'reserved');

-- CreateIndex
CREATE INDEX "runs_keyed" ON "runs"("ended_at") WHERE (state = 'settled' AND idempotency_key IS NOT NULL);

-- CreateIndex
CREATE INDEX "runs_user_id_created_at_id_idx" ON "runs"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "runs_created_at_id_idx" ON "runs"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "runs_user_id_idempotency_key_key" ON "runs"("user_id", "idempotency_key");

-- CreateIndex
CREATE INDEX "audit_entries_created_at_id_idx" ON "audit_entries"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entries_actor_id_created_at_id_idx" ON "audit_entries"("actor_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entries_action_created_at_id_idx" ON "audit_entries"("action", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entries_target_type_target_id_created_at_id_idx" ON "audit_entries"("target_type", "target_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "audit_entries_target_id_created_at_id_idx" ON "audit_entries"("target_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "emails_created_at_id_idx" ON "emails"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "emails_user_id_created_at_id_idx" ON "emails"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "emails_status_created_at_id_idx" ON "emails"("status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "emails_template_created_at_id_idx" ON "emails"("template", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "feedback_created_at_id_idx" ON "feedback"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "feedback_user_id_created_at_id_idx" ON "feedback"("user_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "feedback_status_created_at_id_idx" ON "feedback"("status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "feedback_rating_created_at_id_idx" ON "feedback"("rating", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "waitlist_entries_email_key" ON "waitlist_entries"("email");

-- CreateIndex
CREATE INDEX "waitlist_entries_created_at_id_idx" ON "waitlist_entries"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "waitlist_entries_status_created_at_id_idx" ON "waitlist_entries"("status", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "waitlist_entries_source_created_at_id_idx" ON "waitlist_entries"("source", "created_at" DESC, "id" DESC);

-- AddForeignKey
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_revoked_by_id_fkey" FOREIGN KEY ("revoked_by_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "plans"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_subscription_id_fkey" FOREIGN KEY ("subscription_id") REFERENCES "subscriptions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "credit_accounts" ADD CONSTRAINT "credit_accounts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "credit_accounts"("user_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "runs"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "runs" ADD CONSTRAINT "runs_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "credit_accounts"("user_id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "runs" ADD CONSTRAINT "runs_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "emails" ADD CONSTRAINT "emails_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "feedback" ADD CONSTRAINT "feedback_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the Prisma schema cannot say.

ALTER TABLE "users"
  ADD CONSTRAINT "users_email_normalised" CHECK (email = lower(email) AND email <> '');

ALTER TABLE "api_keys"
  ADD CONSTRAINT "api_keys_hash_is_sha256" CHECK (octet_length(hash) = 32),
  ADD CONSTRAINT "api_keys_start_shows_12_characters" CHECK (
    length(start) = 12 AND start LIKE CASE surface WHEN 'admin' THEN 'tsk\_adm\_%' ELSE 'tsk\_usr\_%' END),
  ADD CONSTRAINT "api_keys_revoked_by_whom" CHECK (revoked_at IS NOT NULL OR revoked_by_id IS NULL);

ALTER TABLE "plans"
  ADD CONSTRAINT "plans_amounts" CHECK (amount >= 0 AND credits >= 0);

ALTER TABLE "subscriptions"
  ADD CONSTRAINT "subscriptions_amount" CHECK (amount >= 0),
  ADD CONSTRAINT "subscriptions_period" CHECK (current_period_end > current_period_start),
  ADD CONSTRAINT "subscriptions_canceled_at" CHECK ((status = 'canceled') = (canceled_at IS NOT NULL));

ALTER TABLE "orders"
  ADD CONSTRAINT "orders_amounts" CHECK (amount >= 0 AND credits >= 0 AND refunded_amount BETWEEN 0 AND amount),
  ADD CONSTRAINT "orders_paid_at" CHECK ((status IN ('paid', 'partially_refunded', 'refunded')) = (paid_at IS NOT NULL)),
  ADD CONSTRAINT "orders_refunded_at" CHECK ((status IN ('partially_refunded', 'refunded')) = (refunded_at IS NOT NULL)),
  ADD CONSTRAINT "orders_refunded_amount" CHECK (
    CASE status WHEN 'refunded' THEN refunded_amount = amount
                WHEN 'partially_refunded' THEN refunded_amount > 0 AND refunded_amount < amount
                ELSE refunded_amount = 0 END);

ALTER TABLE "credit_accounts"
  ADD CONSTRAINT "credit_accounts_no_overdraft" CHECK (balance >= 0),
  ADD CONSTRAINT "credit_accounts_seq" CHECK (seq >= 0);

ALTER TABLE "credit_entries"
  ADD CONSTRAINT "credit_entries_amount" CHECK (amount <> 0),
  ADD CONSTRAINT "credit_entries_balance_after" CHECK (balance_after >= 0),
  ADD CONSTRAINT "credit_entries_seq" CHECK (seq > 0),
  ADD CONSTRAINT "credit_entries_sign" CHECK (
    CASE WHEN kind = 'reserve' THEN amount < 0 WHEN kind = 'adjustment' THEN true ELSE amount > 0 END),
  ADD CONSTRAINT "credit_entries_run" CHECK ((kind IN ('reserve', 'settle', 'release')) = (run_id IS NOT NULL)),
  ADD CONSTRAINT "credit_entries_order" CHECK ((kind = 'purchase') = (order_id IS NOT NULL));

ALTER TABLE "runs"
  ADD CONSTRAINT "runs_reserved" CHECK (reserved > 0),
  ADD CONSTRAINT "runs_cost" CHECK (cost BETWEEN 0 AND reserved),
  ADD CONSTRAINT "runs_ended_at" CHECK ((state = 'reserved') = (ended_at IS NULL)),
  ADD CONSTRAINT "runs_cost_when_ended" CHECK ((state = 'reserved') = (cost IS NULL)),
  ADD CONSTRAINT "runs_unsettled_costs_nothing" CHECK (state IN ('reserved', 'settled') OR cost = 0),
  ADD CONSTRAINT "runs_unsettled_holds_no_key" CHECK (state IN ('reserved', 'settled') OR idempotency_key IS NULL),
  ADD CONSTRAINT "runs_settled_has_response" CHECK (
    state <> 'settled' OR (response_status IS NOT NULL AND response_body IS NOT NULL)),
  ADD CONSTRAINT "runs_fingerprint_is_sha256" CHECK (octet_length(fingerprint) = 32);

ALTER TABLE "feedback"
  ADD CONSTRAINT "feedback_rating" CHECK (rating BETWEEN 1 AND 5);

ALTER TABLE "emails"
  ADD CONSTRAINT "emails_sent_at" CHECK ((status = 'sent') = (sent_at IS NOT NULL));

CREATE FUNCTION credit_entries_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'credit_entries is append-only: % refused', TG_OP;
END $$;

CREATE TRIGGER credit_entries_append_only
  BEFORE UPDATE OR DELETE ON "credit_entries"
  FOR EACH ROW EXECUTE FUNCTION credit_entries_append_only();

CREATE TRIGGER credit_entries_not_truncated
  BEFORE TRUNCATE ON "credit_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION credit_entries_append_only();
