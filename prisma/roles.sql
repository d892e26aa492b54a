-- The rights of the runtime role, with which the servers and scripts of the product connect (DATABASE_URL). `npm run
-- db:migrate` applies this file as the owner of the tables (MIGRATE_DATABASE_URL), which has all rights; so does
--   psql --single-transaction --set=ON_ERROR_STOP=1 --set=role=NAME --set=secret=PASSWORD --file=prisma/roles.sql --file=prisma/yours.sql
-- Every table and every function that can be called has one line here, with the reason for its rights: a test names
-- missing lines. A right is revoked one release after the last one that needs it.

-- A concurrent run waits.
SELECT FROM pg_advisory_xact_lock(hashtext('runtime role'));

SET runtime.role = :'role';
SET runtime.secret = :'secret';

DO $$
DECLARE
  runtime text := current_setting('runtime.role');
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = runtime) THEN
    EXECUTE format('CREATE ROLE %I LOGIN PASSWORD %L', runtime, current_setting('runtime.secret'));
  END IF;
  -- Each of these could regain rights that are not granted below. A superuser counts as a member of every role.
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = runtime AND (rolcreaterole OR rolbypassrls OR rolreplication))
     OR pg_has_role(runtime, current_user, 'MEMBER')
     OR EXISTS (
       SELECT FROM pg_roles WHERE pg_has_role(runtime, oid, 'MEMBER')
         AND rolname IN ('pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files'))
     OR EXISTS (
       SELECT FROM (
         SELECT datdba AS owner FROM pg_database WHERE datname = current_database()
         UNION SELECT nspowner FROM pg_namespace WHERE nspname IN ('public', 'request_log')
         UNION SELECT relowner FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'request_log'::regnamespace)
         UNION SELECT proowner FROM pg_proc WHERE pronamespace = 'public'::regnamespace) owners
       WHERE pg_has_role(runtime, owner, 'MEMBER')) THEN
    RAISE EXCEPTION 'The role "%" of DATABASE_URL can change tables or roles. Use a role without such rights, or the name of one that does not exist: it is created.', runtime;
  END IF;
  -- No code of the product makes temporary tables.
  EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC, %I', current_database(), runtime);
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), runtime);
END $$;

-- The settings of lib/platform/postgres/settings.ts, for a pooler that leaves them out, and for builds before them.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['TimeZone = ''UTC''', 'DateStyle = ''ISO''', 'default_transaction_isolation = ''read committed''']
  LOOP
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET ', current_setting('runtime.role'), current_database()) || setting;
  END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE WARNING 'TimeZone, DateStyle and default_transaction_isolation are not set on the role "%", which somebody else manages.', current_setting('runtime.role');
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC, :"role";
REVOKE ALL ON SCHEMA request_log FROM PUBLIC, :"role";

-- Objects of other owners, such as extensions, keep their rights.
DO $$
DECLARE
  own text;
BEGIN
  FOR own IN
    SELECT format('TABLE %s', oid::regclass) FROM pg_class
      WHERE relnamespace IN ('public'::regnamespace, 'request_log'::regnamespace) AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
        AND pg_has_role(relowner, 'USAGE') AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
    UNION ALL SELECT format('ROUTINE %s', oid::regprocedure) FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace
        AND pg_has_role(proowner, 'USAGE') AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM PUBLIC, %I', own, current_setting('runtime.role'));
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA public TO :"role"; -- all tables are in it; the schema request_log has partitions only

-- Records that only grow.
GRANT SELECT, INSERT ON credit_entries TO :"role"; -- the ledger: an entry is never changed
GRANT SELECT, INSERT (actor_id, action, target_type, target_id, details) ON audit_entries TO :"role"; -- never changed; the database sets id and time
GRANT SELECT ON audit_seals TO :"role"; -- read to date entries and by audit:verify; seal_audit_day() writes them
GRANT SELECT, INSERT ON refunds TO :"role"; -- a trigger on orders adds them; never changed
GRANT SELECT, INSERT ON key_requests TO :"role"; -- the request log; its days are dropped by drop_request_log_day()

-- Accounts.
GRANT SELECT, INSERT, UPDATE ON users TO :"role"; -- sign-ups, settings, roles and bans; an account is never deleted
GRANT SELECT, INSERT, UPDATE, DELETE ON user_pictures TO :"role"; -- set, replaced and removed by their accounts
GRANT SELECT, INSERT, UPDATE, DELETE ON accounts TO :"role"; -- providers are connected, locked while one signs in, and disconnected
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO :"role"; -- start, are seen, and end
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_ups TO :"role"; -- wait for their link, get new links, and expire
GRANT SELECT, INSERT, DELETE ON verification_tokens TO :"role"; -- used once
GRANT SELECT, INSERT, UPDATE, DELETE ON address_changes TO :"role"; -- confirmed, undone, or replaced by a later one
GRANT SELECT, INSERT, UPDATE, DELETE ON pending_sign_ins TO :"role"; -- wait for the second factor, and end
GRANT SELECT, INSERT, UPDATE, DELETE ON passkeys TO :"role"; -- added, used and removed
GRANT SELECT, INSERT, UPDATE, DELETE ON passkey_challenges TO :"role"; -- used once, or expire
GRANT SELECT, INSERT, UPDATE, DELETE ON authenticator_apps TO :"role"; -- added, used and removed
GRANT SELECT, INSERT, DELETE ON recovery_codes TO :"role"; -- used once, or replaced
GRANT SELECT, INSERT, UPDATE, DELETE ON code_attempts TO :"role"; -- counted, and forgotten
GRANT SELECT, INSERT, UPDATE, DELETE ON account_deletions TO :"role"; -- requested, undone and done
GRANT SELECT, INSERT, DELETE ON account_notes TO :"role"; -- staff add them; erased with their account
REVOKE ALL ON ended_sessions FROM :"role"; -- unused since sessions are rows

-- Keys.
GRANT SELECT, INSERT, UPDATE ON api_keys TO :"role"; -- issued, changed, used and revoked; never deleted
GRANT SELECT, INSERT, UPDATE ON key_spending TO :"role"; -- runs hold and spend
GRANT SELECT, INSERT, UPDATE ON key_reminders TO :"role"; -- queued, taken and sent
GRANT SELECT, INSERT, DELETE ON key_reminder_days TO :"role"; -- taken for an email, and returned if it fails
GRANT SELECT, INSERT, UPDATE ON key_reminder_progress TO :"role"; -- moves on

-- Billing and credits.
GRANT SELECT ON plans TO :"role"; -- db:migrate writes them
GRANT SELECT, INSERT, UPDATE ON subscriptions TO :"role"; -- start, and change until they end
GRANT SELECT, INSERT, UPDATE ON orders TO :"role"; -- are paid and refunded; locked while their credits are granted
GRANT SELECT, INSERT, UPDATE ON credit_accounts TO :"role"; -- balances; a check keeps them from falling below zero
GRANT SELECT, INSERT, UPDATE ON credit_notices TO :"role"; -- queued, taken and sent
GRANT SELECT, INSERT, UPDATE, DELETE ON provider_objects TO :"role"; -- booked; those of payments are erased with their account
GRANT SELECT, INSERT, UPDATE, DELETE ON provider_events TO :"role"; -- booked once, and kept for 90 days
GRANT SELECT, INSERT, DELETE ON provider_customers TO :"role"; -- known from the first purchase on, and erased with their account
GRANT SELECT, INSERT, UPDATE, DELETE ON provider_requests TO :"role"; -- repeated until they are done, and erased with their account
GRANT SELECT, INSERT, UPDATE ON provider_reconciliations TO :"role"; -- one row for each provider
GRANT SELECT, INSERT, UPDATE, DELETE ON checkouts TO :"role"; -- begin and end; deleted after a while, and with their account
GRANT SELECT, INSERT, UPDATE, DELETE ON top_ups TO :"role"; -- turned on, paused and off
GRANT SELECT, INSERT, UPDATE, DELETE ON credit_alerts TO :"role"; -- turned on and off, and told
GRANT SELECT, INSERT, UPDATE ON runs TO :"role"; -- reserve, end, and free their keys
GRANT SELECT, INSERT, UPDATE, DELETE ON run_intents TO :"role"; -- made, run once or not, and swept

-- Messages.
GRANT SELECT, INSERT, UPDATE ON emails TO :"role"; -- logged once they are sent, or not; addresses are erased with their account
GRANT SELECT, INSERT, UPDATE ON feedback TO :"role"; -- reviewed, resolved and replied to
GRANT SELECT, INSERT, UPDATE ON waitlist_entries TO :"role"; -- invited, and joined

-- Sums, which triggers update with the rights of the writing role: the owner can rebuild all of them from the records
-- (rebuild_daily_sums), and functions with the owner's rights would make each metered call change roles several times.
GRANT SELECT, INSERT, DELETE ON daily_changes TO :"role"; -- added by triggers, and folded by the sweeper
GRANT SELECT, INSERT, UPDATE ON daily_sums TO :"role"; -- the sweeper folds changes into them
GRANT SELECT, INSERT, DELETE ON active_days TO :"role"; -- come with a run, and go if it is moved
GRANT SELECT, INSERT, UPDATE, DELETE ON buying_days TO :"role"; -- come with a paid order, and go if it is no longer paid
GRANT SELECT, INSERT, UPDATE ON customers TO :"role"; -- accounts that subscribed or bought
GRANT SELECT, INSERT, UPDATE, DELETE ON key_request_changes TO :"role"; -- added by a trigger, and folded into the next three
GRANT SELECT, UPDATE ON key_requests_folded TO :"role"; -- the time of the last fold
GRANT SELECT, INSERT, UPDATE, DELETE ON key_request_sums TO :"role"; -- dropped with the days of the request log
GRANT SELECT, INSERT, UPDATE, DELETE ON key_usage TO :"role"; -- kept for 400 days
GRANT SELECT, INSERT, UPDATE, DELETE ON key_reach TO :"role"; -- kept until 400 days after the end of the key; addresses go with an erased account

GRANT SELECT (migration_name, finished_at, rolled_back_at) ON _prisma_migrations TO :"role"; -- for /readyz
GRANT SELECT ON schema_version TO :"role"; -- servers check it; db:migrate writes it as the owner

-- Functions with the rights of the owner, for actions that the role may not do itself.
GRANT EXECUTE ON FUNCTION add_request_log_day(date) TO :"role"; -- creates a partition
GRANT EXECUTE ON FUNCTION drop_request_log_day(date) TO :"role"; -- drops the oldest partition, if its day is over
GRANT EXECUTE ON FUNCTION seal_audit_day() TO :"role"; -- seals the first day that is over and not sealed

-- Functions with the rights of the caller, which triggers, indexes and statements call.
GRANT EXECUTE ON FUNCTION active_accounts(timestamptz, timestamptz) TO :"role"; -- statistics
GRANT EXECUTE ON FUNCTION audit_day_key(date) TO :"role"; -- dating audit entries
GRANT EXECUTE ON FUNCTION count_buying_day(uuid, date, int) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION credit_entry_id(timestamptz, bigint) TO :"role"; -- the ledger
GRANT EXECUTE ON FUNCTION daily_facts(api_keys) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(audit_entries) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(credit_accounts) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(credit_entries) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(customers) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(emails) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(feedback) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(key_usage) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(orders) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(refunds) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(runs) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(subscriptions) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(users) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION daily_facts(waitlist_entries) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION erase_request_messages(uuid) TO :"role"; -- the erasure of an account
GRANT EXECUTE ON FUNCTION fold_key_requests() TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION folded(text) TO :"role"; -- search, and its indexes
GRANT EXECUTE ON FUNCTION plan_of(uuid) TO :"role"; -- an index of orders, and their filter
GRANT EXECUTE ON FUNCTION email_error_code(text) TO :"role"; -- an index of emails, their filter and their metrics
GRANT EXECUTE ON FUNCTION reconcile_active_day(uuid, date) TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION refuse_old_snapshot() TO :"role"; -- sums
GRANT EXECUTE ON FUNCTION spend_period_start(spend_period, timestamptz) TO :"role"; -- spending limits
GRANT EXECUTE ON FUNCTION trigrams(text) TO :"role"; -- search, and its indexes
GRANT EXECUTE ON FUNCTION utc_day(timestamptz) TO :"role"; -- days everywhere

-- Functions of the owner, for seals, migrations and repairs.
REVOKE EXECUTE ON FUNCTION audit_chain(bytea) FROM :"role"; -- seal_audit_day() calls it as the owner
REVOKE EXECUTE ON FUNCTION audit_chain_next(bytea, bytea) FROM :"role"; -- seal_audit_day() calls it as the owner
REVOKE EXECUTE ON FUNCTION audit_entry_bytes(audit_entries) FROM :"role"; -- seal_audit_day() calls it as the owner
REVOKE EXECUTE ON FUNCTION audit_seal_of(date, bytea) FROM :"role"; -- seal_audit_day() calls it as the owner
REVOKE EXECUTE ON FUNCTION rebuild_daily_sums() FROM :"role"; -- counts everything again
REVOKE EXECUTE ON FUNCTION recount_customer(uuid) FROM :"role"; -- counts an account again
REVOKE EXECUTE ON FUNCTION recount_series(text[]) FROM :"role"; -- counts series again
REVOKE EXECUTE ON FUNCTION refuse_other_roles() FROM :"role"; -- the functions above call it as the owner

-- Rights of another role that this one is a member of are not revoked above.
-- Other schemas and temporary tables could precede the product's in a search path.
DO $$
DECLARE
  runtime text := current_setting('runtime.role');
  unsafe text := (
    SELECT rolname FROM pg_roles r
    WHERE pg_has_role(runtime, r.oid, 'MEMBER')
      AND (has_database_privilege(r.oid, current_database(), 'CREATE, TEMPORARY')
        OR has_schema_privilege(r.oid, 'public', 'CREATE') OR has_schema_privilege(r.oid, 'request_log', 'CREATE')
        OR has_any_column_privilege(r.oid, 'audit_seals', 'INSERT')
        OR EXISTS (
          SELECT FROM pg_class t
          WHERE (t.oid = ANY ('{audit_entries,audit_seals,credit_entries,refunds,key_requests}'::regclass[])
              OR t.relnamespace = 'request_log'::regnamespace AND t.relkind = 'r')
            AND (has_table_privilege(r.oid, t.oid, 'DELETE, TRUNCATE, TRIGGER')
              OR has_any_column_privilege(r.oid, t.oid, 'UPDATE, REFERENCES'))))
    ORDER BY rolname = runtime, rolname LIMIT 1);
BEGIN
  IF unsafe IS NOT NULL THEN
    RAISE EXCEPTION 'The role "%" of DATABASE_URL can change records that only grow, or create objects, with the rights of "%". Revoke those, or use another role.', runtime, unsafe;
  END IF;
END $$;
