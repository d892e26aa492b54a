-- AlterTable
ALTER TABLE "pending_sign_ins" ADD COLUMN     "factor" TEXT;
