CREATE INDEX CONCURRENTLY "api_keys_revoked" ON "api_keys"("revoked_at") WHERE (revoked_at IS NOT NULL);
