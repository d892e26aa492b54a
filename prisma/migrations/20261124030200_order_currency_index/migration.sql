CREATE INDEX CONCURRENTLY "orders_currency_created_at_id_idx" ON "orders"("currency", "created_at" DESC, "id" DESC);
