-- The form of the last reply; the release before leaves it empty.
ALTER TABLE "feedback" ADD COLUMN "reply_id" UUID;
