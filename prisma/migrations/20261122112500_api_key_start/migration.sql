-- A key starts with any prefix that names its surface, and four characters of the key follow.
ALTER TABLE "api_keys"
  DROP CONSTRAINT "api_keys_start_shows_12_characters",
  ADD CONSTRAINT "api_keys_start_shows_4_characters" CHECK (
    start ~ CASE surface WHEN 'admin' THEN '^[a-z0-9_]+_adm_[0-9A-Za-z]{4}$' ELSE '^[a-z0-9_]+_usr_[0-9A-Za-z]{4}$' END) NOT VALID;
