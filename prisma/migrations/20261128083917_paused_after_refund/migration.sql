-- AlterTable
ALTER TABLE "top_ups" ADD COLUMN     "is_returned" BOOLEAN NOT NULL DEFAULT false;
