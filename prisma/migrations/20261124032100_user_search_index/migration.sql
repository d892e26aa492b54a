CREATE INDEX CONCURRENTLY "users_searched" ON "users" USING gin (trigrams(folded("name" || E'\n' || "email"))) WITH (fastupdate = off);
