import { defineConfig } from 'vitest/config'

const BENCH_TIMEOUT_MS = 30 * 60_000

/** Figures are measured one after the other, with nothing else running; vitest only runs the TypeScript. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['bench/*.bench.ts'],
    globalSetup: ['bench/support/global-setup.ts'],
    fileParallelism: false,
    maxWorkers: 1,
    testTimeout: BENCH_TIMEOUT_MS,
    hookTimeout: BENCH_TIMEOUT_MS,
  },
})
