CREATE INDEX CONCURRENTLY "subscriptions_cancel_at_period_end_created_at_id_idx" ON "subscriptions"("cancel_at_period_end", "created_at" DESC, "id" DESC);
