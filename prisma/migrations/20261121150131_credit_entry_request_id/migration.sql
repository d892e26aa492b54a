-- AlterTable
ALTER TABLE "credit_entries" ADD COLUMN     "request_id" UUID;

-- CreateIndex
CREATE UNIQUE INDEX "credit_entries_one_a_form" ON "credit_entries"("user_id", "request_id") WHERE (request_id IS NOT NULL);
