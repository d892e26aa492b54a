-- DropIndex
DROP INDEX "sign_ups_email_expires_at_idx";
