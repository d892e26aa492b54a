-- AlterTable
ALTER TABLE "key_requests" ADD COLUMN     "request_id" TEXT;
