CREATE INDEX CONCURRENTLY "subscriptions_open_plan" ON "subscriptions"("plan_id", "user_id") WHERE status <> 'canceled';
