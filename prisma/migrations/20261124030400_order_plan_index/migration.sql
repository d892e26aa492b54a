CREATE INDEX CONCURRENTLY "orders_plan_created_at_id_idx" ON "orders"(plan_of("subscription_id"), "created_at" DESC, "id" DESC);
