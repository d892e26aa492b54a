-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "factor" TEXT;
