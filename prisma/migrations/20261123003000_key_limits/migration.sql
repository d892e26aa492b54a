CREATE TYPE "spend_period" AS ENUM ('day', 'week', 'month', 'never');
CREATE TYPE "revocation_reason" AS ENUM ('not_needed', 'leaked', 'left_team', 'other');

-- Columns without a default and checks that are validated later read no rows, and a foreign key of a new column has
-- none to check: the locks are held for a moment.
ALTER TABLE "api_keys"
  ADD COLUMN "scopes" TEXT[],
  ADD COLUMN "allowed_cidrs" TEXT[],
  ADD COLUMN "requests_per_minute" INTEGER,
  ADD COLUMN "spend_limit" BIGINT,
  ADD COLUMN "spend_period" "spend_period",
  ADD COLUMN "successor_id" UUID
    CONSTRAINT "api_keys_successor_id_fkey" REFERENCES "api_keys"("id") ON DELETE SET NULL ON UPDATE CASCADE,
  ADD COLUMN "root_id" UUID
    CONSTRAINT "api_keys_root_id_fkey" REFERENCES "api_keys"("id") ON DELETE SET NULL ON UPDATE CASCADE,
  ADD COLUMN "revocation_reason" "revocation_reason",
  ADD CONSTRAINT "api_keys_scopes_1_to_50" CHECK (cardinality(scopes) BETWEEN 1 AND 50 AND array_position(scopes, NULL) IS NULL) NOT VALID,
  ADD CONSTRAINT "api_keys_cidrs_1_to_50" CHECK (cardinality(allowed_cidrs) BETWEEN 1 AND 50) NOT VALID,
  ADD CONSTRAINT "api_keys_requests_1_to_300" CHECK (requests_per_minute BETWEEN 1 AND 300) NOT VALID,
  ADD CONSTRAINT "api_keys_spend_limit" CHECK (spend_limit BETWEEN 0 AND 1000000000 AND (spend_limit IS NULL) = (spend_period IS NULL)) NOT VALID,
  ADD CONSTRAINT "api_keys_successor" CHECK (successor_id <> id) NOT VALID,
  ADD CONSTRAINT "api_keys_revoked_why" CHECK (revoked_at IS NOT NULL OR revocation_reason IS NULL) NOT VALID;

CREATE TABLE "key_spending" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "root_id" UUID NOT NULL,
    "period" "spend_period" NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "spent" BIGINT NOT NULL DEFAULT 0,
    "held" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "key_spending_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "key_spending_root_id_fkey" FOREIGN KEY ("root_id") REFERENCES "api_keys"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "key_spending_not_negative" CHECK (spent >= 0 AND held >= 0)
);
CREATE UNIQUE INDEX "key_spending_root_id_period_starts_at_key" ON "key_spending"("root_id", "period", "starts_at");

-- The start of the period that contains a time, in UTC; weeks start on Monday.
CREATE FUNCTION spend_period_start(period spend_period, at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE period WHEN 'never' THEN timestamptz 'epoch' ELSE date_trunc(period::text, at, 'UTC') END $$;
