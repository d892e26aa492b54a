CREATE INDEX CONCURRENTLY "api_keys_expiring" ON "api_keys"("expires_at", "id") WHERE (expires_at IS NOT NULL);
