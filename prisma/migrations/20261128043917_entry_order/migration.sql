-- A migration of its own: runs lock both tables of the ledger in the other order. A refund or a dispute changes the credits
-- of its order.
ALTER TABLE "credit_entries"
  ADD CONSTRAINT "credit_entries_order_of" CHECK (
    CASE kind WHEN 'purchase' THEN order_id IS NOT NULL WHEN 'adjustment' THEN true ELSE order_id IS NULL END) NOT VALID,
  DROP CONSTRAINT "credit_entries_order";
