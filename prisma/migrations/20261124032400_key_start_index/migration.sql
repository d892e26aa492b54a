CREATE INDEX CONCURRENTLY "api_keys_start_user_id_idx" ON "api_keys"("start" COLLATE "C", "user_id");
