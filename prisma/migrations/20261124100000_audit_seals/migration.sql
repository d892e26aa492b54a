-- CreateTable
CREATE TABLE "audit_seals" (
    "day" DATE NOT NULL,
    "entries" BIGINT NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "audit_seals_pkey" PRIMARY KEY ("day")
);

-- What the Prisma schema cannot say.

ALTER TABLE "audit_seals" ADD CONSTRAINT "audit_seals_hash_is_sha256" CHECK (length("hash") = 32);

CREATE FUNCTION audit_seals_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_seals is append-only: % refused', TG_OP;
END $$;

CREATE TRIGGER "audit_seals_append_only"
  BEFORE UPDATE OR DELETE ON "audit_seals"
  FOR EACH ROW EXECUTE FUNCTION audit_seals_append_only();

CREATE TRIGGER "audit_seals_not_truncated"
  BEFORE TRUNCATE ON "audit_seals"
  FOR EACH STATEMENT EXECUTE FUNCTION audit_seals_append_only();

-- The canonical form, which docs/operation.md describes. An entry is the text of each column in UTF-8, followed by a zero
-- byte, which no text can contain; the time is in milliseconds since 1970, and NULL is no text.
CREATE FUNCTION audit_entry_bytes(e audit_entries) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT convert_to(e.id::text, 'UTF8') || '\x00'
    || convert_to((extract(epoch FROM e.created_at) * 1000)::bigint::text, 'UTF8') || '\x00'
    || convert_to(coalesce(e.actor_id::text, ''), 'UTF8') || '\x00'
    || convert_to(e.action, 'UTF8') || '\x00'
    || convert_to(e.target_type, 'UTF8') || '\x00'
    || convert_to(e.target_id, 'UTF8') || '\x00'
    || convert_to(e.details::text, 'UTF8') || '\x00'
$$;

CREATE FUNCTION audit_chain_next(chain bytea, entry bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN sha256(chain || entry);
END $$;

-- Holds 32 bytes however many entries there are.
CREATE AGGREGATE audit_chain(bytea) (SFUNC = audit_chain_next, STYPE = bytea, INITCOND = '');

-- The seal of a day (UTC): its hash is that of the seal before, of the date, and of the chain of its entries.
CREATE FUNCTION audit_seal_of(on_day date, before bytea) RETURNS audit_seals LANGUAGE sql STABLE AS $$
  SELECT on_day, count(*), sha256(before || convert_to(to_char(on_day, 'YYYY-MM-DD'), 'UTF8')
    || audit_chain(audit_entry_bytes(e) ORDER BY e.created_at, e.id))
  FROM audit_entries e
  WHERE e.created_at >= on_day::timestamp AT TIME ZONE 'UTC' AND e.created_at < (on_day + 1)::timestamp AT TIME ZONE 'UTC'
$$;

-- The lock of a day: those who write an entry of it share it, and who seals it has it alone.
CREATE FUNCTION audit_day_key(on_day date) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT on_day - date '2000-01-01'
$$;

-- The database dates each entry, also in its id, a UUIDv7 (RFC 9562): by its clock when the entry is written and not when
-- the transaction started, and never before the end of the last sealed day, even if its clock is set back. The lock is
-- held to the end of the transaction. A day that is still the day of the clock under its lock was not sealed before. An entry
-- far longer than any of the product is refused: no sealing could read it if its text did not fit in memory.
CREATE FUNCTION date_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  made_at timestamptz;
  locked date;
BEGIN
  IF octet_length(NEW.details::text) > 65536 OR greatest(length(NEW.action), length(NEW.target_type), length(NEW.target_id)) > 300 THEN
    RAISE EXCEPTION 'an audit entry is too long' USING ERRCODE = 'check_violation';
  END IF;
  -- With an old snapshot it would not see the last seal.
  PERFORM refuse_old_snapshot();
  LOOP
    made_at := greatest(clock_timestamp(), (SELECT (max(day) + 1)::timestamp AT TIME ZONE 'UTC' FROM public.audit_seals));
    EXIT WHEN utc_day(made_at) = locked;
    locked := utc_day(made_at);
    PERFORM pg_advisory_xact_lock_shared(hashtext('audit_seals'), audit_day_key(locked));
  END LOOP;
  NEW.created_at := date_trunc('milliseconds', made_at);
  NEW.id := lpad(to_hex(floor(extract(epoch FROM made_at) * 1000)::bigint), 12, '0')
    || '7' || lpad(to_hex(extract(microseconds FROM made_at)::int % 1000 * 4), 3, '0')
    || right(gen_random_uuid()::text, 17);
  RETURN NEW;
END $$;

CREATE TRIGGER "audit_entries_dated" BEFORE INSERT ON "audit_entries"
  FOR EACH ROW EXECUTE FUNCTION date_audit_entry();

-- Seals the first day that is over and not sealed, and returns its seal; nothing if there is none, if somebody else is
-- sealing it, or while a transaction that wrote an entry of it is open.
CREATE FUNCTION seal_audit_day() RETURNS SETOF audit_seals LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp AS $$
DECLARE
  unsealed date := coalesce((SELECT max(day) + 1 FROM audit_seals), (SELECT utc_day(min(created_at)) FROM audit_entries));
BEGIN
  PERFORM refuse_old_snapshot();
  IF unsealed IS NULL OR unsealed >= utc_day(clock_timestamp())
     OR NOT pg_try_advisory_xact_lock(hashtext('audit_seals'), audit_day_key(unsealed))
     OR EXISTS (SELECT FROM audit_seals WHERE day >= unsealed) THEN
    RETURN;
  END IF;
  RETURN QUERY INSERT INTO audit_seals
    SELECT s.* FROM audit_seal_of(unsealed,
      coalesce((SELECT hash FROM audit_seals WHERE day = unsealed - 1), decode(repeat('00', 32), 'hex'))) s
    RETURNING *;
END $$;
