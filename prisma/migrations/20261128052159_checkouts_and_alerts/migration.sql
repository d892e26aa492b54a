-- CreateEnum
CREATE TYPE "credit_alert_kind" AS ENUM ('left', 'spent_day', 'spent_month');

-- CreateTable
CREATE TABLE "checkouts" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "plan_id" TEXT,
    "is_automatic" BOOLEAN NOT NULL DEFAULT false,
    "url" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "checkouts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "top_ups" (
    "user_id" UUID NOT NULL,
    "below" INTEGER NOT NULL,
    "pack" INTEGER NOT NULL,
    "currency" TEXT NOT NULL,
    "max_per_month" SMALLINT NOT NULL,
    "paused_at" TIMESTAMPTZ(3),
    "paused_card" TEXT,
    "try_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "top_ups_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "credit_alerts" (
    "user_id" UUID NOT NULL,
    "kind" "credit_alert_kind" NOT NULL,
    "credits" INTEGER NOT NULL,
    "period_start" TIMESTAMPTZ(3),
    "spent_before" BIGINT,
    "told_at" TIMESTAMPTZ(3),
    "try_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "credit_alerts_pkey" PRIMARY KEY ("user_id","kind")
);

-- CreateIndex
CREATE INDEX "checkouts_user_id_created_at_idx" ON "checkouts"("user_id", "created_at");

-- CreateIndex
CREATE INDEX "checkouts_open" ON "checkouts"("created_at") WHERE (ended_at IS NULL);


-- The Prisma schema cannot express checks.
ALTER TABLE "top_ups" ADD CONSTRAINT "top_ups_terms" CHECK (below > 0 AND pack > 0 AND max_per_month > 0);
ALTER TABLE "credit_alerts" ADD CONSTRAINT "credit_alerts_credits" CHECK (credits > 0);
