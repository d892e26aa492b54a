-- CreateTable
CREATE TABLE "key_reminders" (
    "key_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "days" SMALLINT NOT NULL,
    "send_at" TIMESTAMPTZ(3) NOT NULL,
    "sent_at" TIMESTAMPTZ(3),
    "attempts" SMALLINT NOT NULL DEFAULT 0,

    CONSTRAINT "key_reminders_pkey" PRIMARY KEY ("key_id","user_id")
);

-- CreateTable
CREATE TABLE "key_reminder_days" (
    "user_id" UUID NOT NULL,
    "day" DATE NOT NULL,

    CONSTRAINT "key_reminder_days_pkey" PRIMARY KEY ("user_id","day")
);

-- CreateTable
CREATE TABLE "key_reminder_progress" (
    "days" SMALLINT NOT NULL,
    "reached_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "key_reminder_progress_pkey" PRIMARY KEY ("days")
);

-- CreateIndex
CREATE INDEX "key_reminders_queued" ON "key_reminders"("send_at") WHERE (sent_at IS NULL);

-- CreateIndex
CREATE INDEX "key_reminders_user_id_sent_at_idx" ON "key_reminders"("user_id", "sent_at");
