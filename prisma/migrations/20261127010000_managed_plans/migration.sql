-- AlterTable
ALTER TABLE "plans" ADD COLUMN     "managed" BOOLEAN NOT NULL DEFAULT false;
