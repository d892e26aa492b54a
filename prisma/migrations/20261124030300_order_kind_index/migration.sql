CREATE INDEX CONCURRENTLY "orders_kind_created_at_id_idx" ON "orders"("kind", "created_at" DESC, "id" DESC);
