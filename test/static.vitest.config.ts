import { defineConfig } from 'vitest/config'

/** What `npm run check` runs: tests that only read the sources, with no database started for them. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    // They read every source: on a busy machine that takes longer than Vitest's five seconds.
    testTimeout: 60_000,
    include: [
      'test/architecture.test.ts',
      'test/dependencies.test.ts',
      'test/docs/links.test.ts',
      'test/docs/numbers.test.ts',
      'test/docs/webhooks.test.ts',
      'test/docs/width.test.ts',
      'test/sdk/generated.test.ts',
    ],
  },
})
