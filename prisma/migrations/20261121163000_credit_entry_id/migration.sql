-- A UUIDv7 (RFC 9562) of the moment whose counter is the entry's number within its account: within one millisecond too,
-- the entries of an account sort as they were made.
CREATE FUNCTION credit_entry_id(made_at timestamptz, seq bigint) RETURNS uuid LANGUAGE sql AS $$
  SELECT (lpad(to_hex(floor(extract(epoch FROM made_at) * 1000)::bigint), 12, '0')
    || '7' || lpad(to_hex((seq >> 30) & 4095), 3, '0')
    || to_hex(2147483648 | (seq & 1073741823))
    || right(gen_random_uuid()::text, 8))::uuid
$$;
