CREATE INDEX CONCURRENTLY "subscriptions_canceled_listed" ON "subscriptions"("created_at" DESC, "id" DESC, "canceled_at") WHERE "canceled_at" IS NOT NULL;
