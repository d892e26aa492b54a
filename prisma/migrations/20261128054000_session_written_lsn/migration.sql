-- AlterTable
ALTER TABLE "sessions" ADD COLUMN     "written_lsn" BIGINT;
