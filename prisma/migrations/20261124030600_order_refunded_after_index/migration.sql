CREATE INDEX CONCURRENTLY "orders_refunded_after_idx" ON "orders"(("refunded_at" - "created_at")) WHERE "refunded_at" IS NOT NULL;
