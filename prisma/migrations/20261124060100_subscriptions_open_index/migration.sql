CREATE INDEX CONCURRENTLY "subscriptions_open_listed" ON "subscriptions"("created_at" DESC, "id" DESC) WHERE status <> 'canceled';
