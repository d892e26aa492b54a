#!/bin/sh
# Writes new secrets for compose.yaml to .env, readable by this user alone; existing values stay unchanged.
set -eu
cd "$(dirname "$0")/.."
umask 077
touch .env
chmod 600 .env
# The last line may lack its end.
[ -z "$(tail -c 1 .env)" ] || echo >> .env
for name in OWNER_PASSWORD RUNTIME_PASSWORD AUTH_SECRET METRICS_TOKEN; do
  grep -q "^$name=." .env || echo "$name=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" >> .env
done
