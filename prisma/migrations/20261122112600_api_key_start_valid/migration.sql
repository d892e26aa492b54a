-- A migration of its own, because it reads every row: here it blocks no reads and no writes.
ALTER TABLE "api_keys" VALIDATE CONSTRAINT "api_keys_start_shows_4_characters";
