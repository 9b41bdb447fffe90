import { defineConfig } from 'vitest/config'

const LONG_TEST_TIMEOUT_MS = 60_000

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'test/**/*.test.ts', 'test/**/*.test.tsx'],
    globalSetup: ['test/support/global-setup.ts'],
    // Two cores: more files at once only fight over them.
    maxWorkers: 2,
    testTimeout: LONG_TEST_TIMEOUT_MS,
    hookTimeout: LONG_TEST_TIMEOUT_MS,
  },
})
