#!/bin/bash
# Runs a database machine in a container, with NAME, ADDRESS and PASSWORD: etcd and Patroni. When one of them ends, so does
# the container, and is started again.
set -eu
umask 077
cd "$(dirname "$0")"
for file in etcd patroni; do
  sed "s/@name@/$NAME/g; s/@address@/$ADDRESS/g; s/@password@/$PASSWORD/g" $file.env > "/tmp/$file.env"
done
set -a
. /tmp/etcd.env
. /tmp/patroni.env
set +a
etcd &
# Patroni ends while etcd has no majority.
until curl --silent http://127.0.0.1:2379/version | grep -q '"etcdcluster":"3'; do sleep 0.5; done
patroni patroni.yaml &
# Patroni stops PostgreSQL.
trap 'kill $(jobs -p)' TERM INT
wait -n || true
kill $(jobs -p) || true
wait
