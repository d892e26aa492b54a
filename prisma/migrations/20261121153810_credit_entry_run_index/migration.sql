-- CreateIndex
CREATE INDEX "credit_entries_run_id_idx" ON "credit_entries"("run_id");
