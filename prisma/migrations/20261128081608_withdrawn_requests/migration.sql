-- AlterTable
ALTER TABLE "provider_requests" ADD COLUMN     "withdrawn_at" TIMESTAMPTZ(3);
