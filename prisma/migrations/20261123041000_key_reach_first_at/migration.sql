CREATE INDEX CONCURRENTLY "key_reach_first_at_idx" ON "key_reach"("first_at");
