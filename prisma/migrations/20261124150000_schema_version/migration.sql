-- CreateTable
CREATE TABLE "schema_version" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "migrated_by" TEXT NOT NULL,
    "oldest_build" TEXT NOT NULL,
    "migrated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "schema_version_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "schema_version_one_row" CHECK ("id"),
    CONSTRAINT "schema_version_numbers" CHECK ("migrated_by" ~ '^\d{1,9}(\.\d{1,9}){2}$' AND "oldest_build" ~ '^\d{1,9}(\.\d{1,9}){2}$')
);
