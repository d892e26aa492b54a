-- An account exists only once its address is verified; a sign-up waits here. All accounts so far count as verified.
CREATE TABLE "sign_ups" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "token" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_ups_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "address_changes" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "from" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "confirmed_at" TIMESTAMPTZ(3),

    CONSTRAINT "address_changes_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "sign_ups_token_key" ON "sign_ups"("token");

CREATE INDEX "sign_ups_email_expires_at_idx" ON "sign_ups"("email", "expires_at" DESC);

CREATE INDEX "sign_ups_expires_at_idx" ON "sign_ups"("expires_at");

CREATE UNIQUE INDEX "address_changes_token_key" ON "address_changes"("token");

CREATE INDEX "address_changes_user_id_created_at_idx" ON "address_changes"("user_id", "created_at" DESC);

ALTER TABLE "address_changes" ADD CONSTRAINT "address_changes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
