-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "exporting" BYTEA,
ADD COLUMN     "exporting_until" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "account_deletions" (
    "user_id" UUID NOT NULL,
    "requested_by_id" UUID NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "undoable" BOOLEAN NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "erased_at" TIMESTAMPTZ(3),

    CONSTRAINT "account_deletions_pkey" PRIMARY KEY ("user_id")
);

-- CreateIndex
CREATE INDEX "account_deletions_due" ON "account_deletions"("due_at") WHERE (erased_at IS NULL);
