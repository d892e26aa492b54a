CREATE INDEX CONCURRENTLY "emails_searched" ON "emails" USING gin (trigrams(folded("to"))) WITH (fastupdate = off);
