-- The release before leaves them empty: its sessions are asked for a proof.
ALTER TABLE "sessions" ADD COLUMN "proved_at" TIMESTAMPTZ(3),
ADD COLUMN "proof_code" BYTEA,
ADD COLUMN "proof_code_until" TIMESTAMPTZ(3),
ADD COLUMN "proof_code_tries" INTEGER;
