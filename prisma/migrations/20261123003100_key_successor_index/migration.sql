CREATE UNIQUE INDEX CONCURRENTLY "api_keys_successor_id_key" ON "api_keys"("successor_id");
