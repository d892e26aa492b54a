-- Migrations of their own, because they read every row: here they block no reads and no writes.
ALTER TABLE "credit_accounts" VALIDATE CONSTRAINT "credit_accounts_owed";
