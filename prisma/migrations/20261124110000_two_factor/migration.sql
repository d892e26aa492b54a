-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "app_secret" BYTEA,
ADD COLUMN     "app_secret_until" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "users" ADD COLUMN     "two_factor" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "two_factor_since" TIMESTAMPTZ(3),
ADD COLUMN     "factors_version" INTEGER NOT NULL DEFAULT 0;

-- CreateTable
CREATE TABLE "pending_sign_ins" (
    "token" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "via" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "pending_sign_ins_pkey" PRIMARY KEY ("token")
);

-- CreateTable
CREATE TABLE "passkeys" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "credential_id" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL,
    "transports" TEXT[],
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "passkey_challenges" (
    "hash" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "bound_to" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "passkey_challenges_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "authenticator_apps" (
    "user_id" UUID NOT NULL,
    "secret" BYTEA NOT NULL,
    "last_step" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "authenticator_apps_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "recovery_codes" (
    "user_id" UUID NOT NULL,
    "hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("user_id","hash")
);

-- CreateTable
CREATE TABLE "code_attempts" (
    "user_id" UUID NOT NULL,
    "device" TEXT NOT NULL,
    "wrong" INTEGER NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "code_attempts_pkey" PRIMARY KEY ("user_id","device")
);

-- CreateIndex
CREATE INDEX "pending_sign_ins_user_id_idx" ON "pending_sign_ins"("user_id");

-- CreateIndex
CREATE INDEX "pending_sign_ins_expires_at_idx" ON "pending_sign_ins"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "passkeys_credential_id_key" ON "passkeys"("credential_id");

-- CreateIndex
CREATE INDEX "passkeys_user_id_idx" ON "passkeys"("user_id");

-- CreateIndex
CREATE INDEX "passkey_challenges_expires_at_idx" ON "passkey_challenges"("expires_at");

-- CreateIndex
CREATE INDEX "code_attempts_last_at_idx" ON "code_attempts"("last_at");

-- AddForeignKey
ALTER TABLE "pending_sign_ins" ADD CONSTRAINT "pending_sign_ins_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "authenticator_apps" ADD CONSTRAINT "authenticator_apps_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "code_attempts" ADD CONSTRAINT "code_attempts_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A new password, a ban and a closure end sign-ins that wait for the second factor, too. Restoring an account that was to be
-- deleted does not: it is done by confirming such a sign-in.
CREATE OR REPLACE FUNCTION users_end_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sessions WHERE user_id = OLD.id;
  IF NEW.status <> 'active' OR NEW.password_hash IS DISTINCT FROM OLD.password_hash THEN
    DELETE FROM pending_sign_ins WHERE user_id = OLD.id;
  END IF;
  IF NEW.session_version = OLD.session_version THEN
    NEW.session_version := OLD.session_version + 1;
  END IF;
  RETURN NEW;
END $$;
