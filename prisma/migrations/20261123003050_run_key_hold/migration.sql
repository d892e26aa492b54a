-- A migration of its own: a run locks "runs" and then, to check its foreign key, "api_keys". A transaction that locks both
-- in the other order would deadlock with runs in flight.
ALTER TABLE "runs"
  ADD COLUMN "spending_id" UUID
    CONSTRAINT "runs_spending_id_fkey" REFERENCES "key_spending"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
  ADD COLUMN "key_hold" BIGINT,
  ADD CONSTRAINT "runs_key_hold" CHECK ((spending_id IS NULL) = (key_hold IS NULL) AND key_hold >= 0 AND coalesce(cost, 0) <= key_hold) NOT VALID;

-- Closing a run moves what it cost from held to spent, whichever statement closes it.
CREATE FUNCTION close_key_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE key_spending SET held = held - OLD.key_hold, spent = spent + NEW.cost WHERE id = OLD.spending_id;
  RETURN NULL;
END $$;
CREATE TRIGGER runs_close_key_hold AFTER UPDATE OF state ON runs FOR EACH ROW
  WHEN (OLD.spending_id IS NOT NULL AND OLD.state = 'reserved' AND NEW.state <> 'reserved') EXECUTE FUNCTION close_key_hold();
