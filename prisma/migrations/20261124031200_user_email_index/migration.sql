CREATE INDEX CONCURRENTLY "users_email_id_idx" ON "users"("email", "id");
