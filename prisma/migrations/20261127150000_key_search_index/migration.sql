CREATE INDEX CONCURRENTLY "api_keys_searched" ON "api_keys" USING gin (trigrams(folded("name"))) WITH (fastupdate = off);
