CREATE INDEX CONCURRENTLY "orders_refunded_listed" ON "orders"("created_at" DESC, "id" DESC, "refunded_at") WHERE "refunded_at" IS NOT NULL;
