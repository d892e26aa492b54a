CREATE INDEX CONCURRENTLY "credit_accounts_spent_user_id_idx" ON "credit_accounts"("spent", "user_id");
