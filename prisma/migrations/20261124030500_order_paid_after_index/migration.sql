CREATE INDEX CONCURRENTLY "orders_paid_after_idx" ON "orders"(("paid_at" - "created_at")) WHERE "paid_at" IS NOT NULL;
