-- What a session may connect, and until when; the release before leaves both empty.
ALTER TABLE "sessions" ADD COLUMN "connecting" BYTEA,
ADD COLUMN "connecting_until" TIMESTAMPTZ(3);
