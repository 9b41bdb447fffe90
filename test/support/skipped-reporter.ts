import type { Reporter, TestModule, Vitest } from 'vitest/node'

/** Ends a run with the programs that this machine lacks, the tests skipped for each, and how to install it. */
export class SkippedReporter implements Reporter {
  #vitest: Vitest | null = null

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tags = modules.flatMap(({ children }) =>
      [...children.allTests('skipped')].flatMap((test) => test.tags),
    )
    const lines = (this.#vitest?.config.tags ?? []).flatMap(({ name, description, skip }) => {
      const count = tags.filter((tag) => tag === name).length
      return skip === true && count > 0 ? [`  ${name}: ${count} skipped; ${description}`] : []
    })
    if (lines.length === 0) return
    this.#vitest?.logger.log(['This machine lacks programs that tests need:', ...lines, ''].join('\n'))
  }
}
