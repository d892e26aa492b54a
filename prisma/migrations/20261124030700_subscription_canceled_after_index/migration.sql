CREATE INDEX CONCURRENTLY "subscriptions_canceled_after_idx" ON "subscriptions"(("canceled_at" - "created_at")) WHERE "canceled_at" IS NOT NULL;
