-- CreateEnum
CREATE TYPE "credit_notice_kind" AS ENUM ('low', 'too_low');

-- CreateTable
CREATE TABLE "credit_notices" (
    "user_id" UUID NOT NULL,
    "kind" "credit_notice_kind" NOT NULL,
    "grant_seq" BIGINT NOT NULL,
    "needed" INTEGER NOT NULL,
    "send_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sent_at" TIMESTAMPTZ(3),
    "attempts" SMALLINT NOT NULL DEFAULT 0,

    CONSTRAINT "credit_notices_pkey" PRIMARY KEY ("user_id","kind")
);

-- CreateIndex
CREATE INDEX "credit_notices_queued" ON "credit_notices"("send_at") WHERE (sent_at IS NULL);
