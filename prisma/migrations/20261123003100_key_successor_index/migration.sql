CREATE INDEX CONCURRENTLY "api_keys_successor_id_idx" ON "api_keys"("successor_id");
