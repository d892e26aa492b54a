-- CreateEnum
CREATE TYPE "provider_object_kind" AS ENUM ('payment', 'subscription');

-- CreateEnum
CREATE TYPE "provider_action" AS ENUM ('cancel_now', 'cancel_at_period_end', 'forget_customer', 'refund');

-- AlterTable
ALTER TABLE "credit_accounts" ADD COLUMN     "owed" BIGINT NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "provider_objects" (
    "provider" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "kind" "provider_object_kind" NOT NULL,
    "user_id" UUID,
    "order_id" UUID,
    "subscription_id" UUID,
    "version" INTEGER NOT NULL DEFAULT 0,
    "credits" BIGINT NOT NULL DEFAULT 0,
    "refunded" INTEGER NOT NULL DEFAULT 0,
    "disputed" INTEGER NOT NULL DEFAULT 0,
    "next_plan" TEXT,
    "url" TEXT,
    "problem" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_objects_pkey" PRIMARY KEY ("provider","id")
);

-- CreateTable
CREATE TABLE "provider_events" (
    "provider" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "kind" "provider_object_kind" NOT NULL,
    "object_id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "booked_at" TIMESTAMPTZ(3),
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "try_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_events_pkey" PRIMARY KEY ("provider","id","kind","object_id")
);

-- CreateTable
CREATE TABLE "provider_customers" (
    "provider" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_customers_pkey" PRIMARY KEY ("provider","id")
);

-- CreateTable
CREATE TABLE "provider_requests" (
    "id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "action" "provider_action" NOT NULL,
    "object_id" TEXT NOT NULL,
    "amount" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "done_at" TIMESTAMPTZ(3),
    "attempts" SMALLINT NOT NULL DEFAULT 0,
    "try_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "error" TEXT,

    CONSTRAINT "provider_requests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "provider_reconciliations" (
    "provider" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "booked" INTEGER NOT NULL DEFAULT 0,
    "reported" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "provider_reconciliations_pkey" PRIMARY KEY ("provider")
);

-- CreateIndex
CREATE UNIQUE INDEX "provider_objects_order_id_key" ON "provider_objects"("order_id");

-- CreateIndex
CREATE INDEX "provider_objects_user_id_idx" ON "provider_objects"("user_id");

-- CreateIndex
CREATE INDEX "provider_objects_subscription_id_idx" ON "provider_objects"("subscription_id");

-- CreateIndex
CREATE INDEX "provider_objects_updated_at_idx" ON "provider_objects"("updated_at");

-- CreateIndex
CREATE INDEX "provider_events_provider_object_id_idx" ON "provider_events"("provider", "object_id");

-- CreateIndex
CREATE INDEX "provider_events_received_at_idx" ON "provider_events"("received_at");

-- CreateIndex
CREATE INDEX "provider_events_waiting" ON "provider_events"("try_at") WHERE (booked_at IS NULL);

-- CreateIndex
CREATE INDEX "provider_customers_user_id_idx" ON "provider_customers"("user_id");

-- CreateIndex
CREATE INDEX "provider_requests_user_id_idx" ON "provider_requests"("user_id");

-- CreateIndex
CREATE INDEX "provider_requests_waiting" ON "provider_requests"("try_at") WHERE (done_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "provider_requests_once" ON "provider_requests"("provider", "action", "object_id") WHERE (done_at IS NULL AND action <> 'refund');

-- What the Prisma schema cannot express. A later migration validates the check of a table with rows.
ALTER TABLE "provider_objects" ADD CONSTRAINT "provider_objects_amounts" CHECK (credits >= 0 AND refunded >= 0 AND disputed >= 0);
ALTER TABLE "provider_requests" ADD CONSTRAINT "provider_requests_amount" CHECK (amount > 0 AND action = 'refund' OR amount IS NULL);
ALTER TABLE "credit_accounts" ADD CONSTRAINT "credit_accounts_owed" CHECK (owed >= 0) NOT VALID;
