-- The last reply; the release before leaves it empty.
ALTER TABLE "feedback" ADD COLUMN "replied_at" TIMESTAMPTZ(3),
ADD COLUMN "replied_by_id" UUID,
ADD COLUMN "reply" TEXT;
