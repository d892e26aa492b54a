-- AlterTable
ALTER TABLE "top_ups" ADD COLUMN     "amount" INTEGER;
