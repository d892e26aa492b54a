CREATE INDEX CONCURRENTLY "emails_error_code_created_at_id_idx" ON "emails"(email_error_code("error"), "created_at" DESC, "id" DESC) WHERE error IS NOT NULL;
