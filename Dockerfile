# One image for everything: it serves, or runs another command of scripts/command.ts (docker run IMAGE migrate). Built
# without secrets and variables. Runs as user 1001 on a read-only root; /tmp is the only folder that it writes to.
#
# To pin the base by digest, append what `docker buildx imagetools inspect node:24.21.0-trixie-slim` prints:
# --build-arg NODE_IMAGE=node:24.21.0-trixie-slim@sha256:…
ARG NODE_IMAGE=node:24.21.0-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/api-types/package.json scripts/api-types/
RUN npm ci --ignore-scripts --include=dev
COPY . .
# `npm run check` checks the types; the tests that this would include are not here.
RUN CHECKPOINT_DISABLE=1 NEXT_TELEMETRY_DISABLED=1 TYPES_CHECKED=1 npm run build \
 && node_modules/.bin/tsx scripts/image-files.ts /image

FROM ${NODE_IMAGE}
# Node alone: no package manager, no headers, no program that changes its user.
RUN rm -rf /usr/local/lib/node_modules /usr/local/include /opt/yarn* \
 && find /usr/local/bin -mindepth 1 ! -name node -delete \
 && find / -xdev -type f -perm /6000 -exec chmod a-s {} + \
 && groupadd --gid 1001 app \
 && useradd --uid 1001 --gid 1001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin app
WORKDIR /app
COPY --from=build /image ./
# As in package.json, which tests/container-files.test.ts compares.
LABEL org.opencontainers.image.version="0.2.0" org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production NEXT_TELEMETRY_DISABLED=1 UPSTASH_DISABLE_TELEMETRY=1
USER 1001:1001
EXPOSE 3000
STOPSIGNAL SIGTERM
# Whether the process responds; /readyz, which also asks the database, is for load balancers.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
  CMD ["/usr/local/bin/node", "/app/dist/command.js", "health"]
ENTRYPOINT ["/usr/local/bin/node", "/app/dist/command.js"]
CMD ["serve"]
