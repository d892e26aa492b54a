CREATE INDEX CONCURRENTLY "waitlist_entries_searched" ON "waitlist_entries" USING gin (trigrams(folded("email"))) WITH (fastupdate = off);
