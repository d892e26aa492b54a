-- What earlier subscriptions and orders count for, account by account: nobody waits longer than for a few of them.
DO $$
DECLARE
  account uuid;
  recounted int := 0;
BEGIN
  FOR account IN
    SELECT id FROM users u
    WHERE EXISTS (SELECT FROM subscriptions WHERE user_id = u.id) OR EXISTS (SELECT FROM orders WHERE user_id = u.id AND paid_at IS NOT NULL)
  LOOP
    PERFORM recount_customer(account);
    recounted := recounted + 1;
    IF recounted % 100 = 0 THEN
      COMMIT;
    END IF;
  END LOOP;
END $$;
