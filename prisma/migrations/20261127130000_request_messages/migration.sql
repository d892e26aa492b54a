-- AlterTable
ALTER TABLE "key_requests" ADD COLUMN     "message" TEXT,
ADD COLUMN     "run_id" UUID;

-- What the Prisma schema cannot express.

-- ONLY: each new day has these indexes, and the next migration adds them to the days that exist.
CREATE INDEX "key_requests_errors_of_user" ON ONLY "key_requests"("user_id", "created_at" DESC, "id" DESC) WHERE (status >= 400);
CREATE INDEX "key_requests_all_errors" ON ONLY "key_requests"("created_at" DESC, "id" DESC) WHERE (status >= 400);
CREATE INDEX "key_requests_request_id" ON ONLY "key_requests"("request_id") WHERE (request_id IS NOT NULL);

-- Servers may not change the log. This removes at most 5,000 messages of an account whose deletion has started, and returns
-- their number.
CREATE FUNCTION erase_request_messages(account uuid) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  erased bigint;
BEGIN
  PERFORM refuse_other_roles();
  IF NOT EXISTS (SELECT FROM account_deletions WHERE user_id = account AND started_at IS NOT NULL) THEN
    RAISE EXCEPTION 'The deletion of account % has not started.', account USING ERRCODE = 'check_violation';
  END IF;
  UPDATE key_requests SET message = NULL WHERE (created_at, id) IN (
    SELECT created_at, id FROM key_requests
    WHERE user_id = account AND status >= 400 AND message IS NOT NULL LIMIT 5000);
  GET DIAGNOSTICS erased = ROW_COUNT;
  RETURN erased;
END $$;
