CREATE INDEX CONCURRENTLY "credit_accounts_balance_user_id_idx" ON "credit_accounts"("balance", "user_id");
