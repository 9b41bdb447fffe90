# One image for every role: `docker run IMAGE start watcher`. See docs/production.md.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --no-audit --no-fund \
  && npm run build \
  && npm prune --omit=dev --no-audit --no-fund
# What only the build needs: npm keeps it, because it also satisfies optional peers.
RUN cd node_modules && rm -rf @babel @rolldown @tanstack @types @typescript @vitejs @vitest caniuse-lite lightningcss* \
  react react-dom rolldown typescript vite vitest

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/LICENSE /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/migrations ./migrations
COPY --from=build /app/deploy/health-check.mjs ./deploy/health-check.mjs
COPY --from=build /app/dist ./dist
# The program belongs to root and runs as another user: what it could break into, it cannot change. A volume
# that is mounted on one of these folders for the first time takes its owner over.
RUN install -d -o node -g node -m 0700 /data /data/sandbox /address-keys /approval-key
USER node
EXPOSE 3000
# Roles that serve no site are asked on OPERATOR_PORT; the signer listens on nothing, and is disabled where it runs.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "/app/deploy/health-check.mjs"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--enable-source-maps", "/app/dist/main.js"]
CMD ["start"]
