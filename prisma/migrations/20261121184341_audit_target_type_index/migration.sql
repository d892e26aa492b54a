-- DropIndex
DROP INDEX "audit_entries_target_type_target_id_created_at_id_idx";

-- CreateIndex
CREATE INDEX "audit_entries_target_type_created_at_id_idx" ON "audit_entries"("target_type", "created_at" DESC, "id" DESC);
