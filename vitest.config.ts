import { defineConfig } from 'vitest/config'
import { programTags } from './test/support/programs.ts'
import { QuickLast } from './test/support/quick-last.ts'
import { SkippedReporter } from './test/support/skipped-reporter.ts'

/** A browser's test is many steps that each wait up to 30 s by themselves; this ends one that hangs. */
const LONG_TEST_TIMEOUT_MS = 180_000
/** What is awaited comes late where two files share two cores; the default is a second. */
const AWAITED_MS_MAX = 60_000

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'src/**/*.test.tsx', 'test/**/*.test.ts', 'test/**/*.test.tsx'],
    // What only `npm run test:long` can run: hours, or programs that no other test needs.
    exclude: ['**/node_modules/**', '**/dist/**', ...(process.env.LONG === '1' ? [] : ['**/*.long.test.ts'])],
    globalSetup: ['test/support/global-setup.ts'],
    tags: programTags(),
    reporters: ['default', new SkippedReporter()],
    // On two cores: files wait for nodes and timers a quarter of their time, so a third fills them.
    maxWorkers: 3,
    // Files of one worker share its modules: loading them anew for each file took as long as the tests themselves.
    isolate: false,
    sequence: { sequencer: QuickLast },
    testTimeout: LONG_TEST_TIMEOUT_MS,
    hookTimeout: LONG_TEST_TIMEOUT_MS,
    expect: { poll: { timeout: AWAITED_MS_MAX } },
  },
})
