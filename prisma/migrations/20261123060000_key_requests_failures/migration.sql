-- CreateIndex
-- ONLY leaves the existing days as they are, so that nothing is locked while rows are read. Each new day has the index,
-- and the others are dropped within REQUEST_LOG_DAYS.
CREATE INDEX "key_requests_errors_of_route" ON ONLY "key_requests"("route", "status", "created_at" DESC, "id" DESC) WHERE (status >= 400);
