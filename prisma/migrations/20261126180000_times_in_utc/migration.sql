-- Before it, db:migrate has made sure that all times of this database were written in UTC: see scripts/repair-times.ts.
COMMENT ON TABLE "schema_version" IS 'All times are written by sessions in UTC.';
