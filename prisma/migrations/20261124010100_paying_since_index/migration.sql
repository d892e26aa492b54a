CREATE INDEX CONCURRENTLY "subscriptions_paying_since" ON "subscriptions"("paying_since") WHERE (paying_since IS NOT NULL);
