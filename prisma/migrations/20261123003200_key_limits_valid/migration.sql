-- Migrations of their own, because they read every row: here they block no reads and no writes.
ALTER TABLE "api_keys"
  VALIDATE CONSTRAINT "api_keys_scopes_1_to_50",
  VALIDATE CONSTRAINT "api_keys_cidrs_1_to_50",
  VALIDATE CONSTRAINT "api_keys_requests_1_to_300",
  VALIDATE CONSTRAINT "api_keys_spend_limit",
  VALIDATE CONSTRAINT "api_keys_successor",
  VALIDATE CONSTRAINT "api_keys_revoked_why";
