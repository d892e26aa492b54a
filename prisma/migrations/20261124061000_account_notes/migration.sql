-- CreateTable
CREATE TABLE "account_notes" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "author_id" UUID NOT NULL,
    "text" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_notes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "account_notes_user_id_created_at_id_idx" ON "account_notes"("user_id", "created_at" DESC, "id" DESC);
