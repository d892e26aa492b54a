CREATE INDEX CONCURRENTLY "credit_accounts_owing" ON "credit_accounts"("user_id") WHERE owed > 0;
