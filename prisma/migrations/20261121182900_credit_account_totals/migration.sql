-- AlterTable
ALTER TABLE "credit_accounts" ADD COLUMN     "granted" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "spent" BIGINT NOT NULL DEFAULT 0;

UPDATE "credit_accounts" a SET granted = total FROM (
  SELECT user_id, sum(amount) AS total FROM "credit_entries"
  WHERE kind IN ('grant', 'purchase') OR kind = 'adjustment' AND amount > 0 GROUP BY 1) given
WHERE a.user_id = given.user_id;

UPDATE "credit_accounts" a SET spent = total FROM (
  SELECT user_id, sum(cost) AS total FROM "runs" WHERE cost > 0 GROUP BY 1) used
WHERE a.user_id = used.user_id;
