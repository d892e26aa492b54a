-- CreateTable
CREATE TABLE "run_intents" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "call" TEXT NOT NULL,
    "max_cost" BIGINT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "body" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "run_intents_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "run_intents_open" ON "run_intents"("user_id", "expires_at") WHERE (body IS NOT NULL);

-- CreateIndex
CREATE INDEX "run_intents_with_body" ON "run_intents"("expires_at") WHERE (body IS NOT NULL);

-- CreateIndex
CREATE INDEX "run_intents_expires_at_idx" ON "run_intents"("expires_at");

-- What the Prisma schema cannot express.
ALTER TABLE "run_intents" ADD CONSTRAINT "run_intents_max_cost_check" CHECK (max_cost > 0);
